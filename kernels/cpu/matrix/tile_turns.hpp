// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

/// Steps that a turn of a kernel's loop sums.
int unrolled_steps(Product product, std::int64_t steps, bool overlaps);

/// Steps that a kernel sums while it finishes the strip before; together they are whole turns. The
/// first step stores the strip. `quiet` steps follow, since sums that were just stored are better
/// left alone. Then a part of the strip's pixels is finished after the first and after each of the
/// other `finishing` - 1 steps.
struct Meanwhile {
  int quiet, finishing;
};
Meanwhile meanwhile(const TileGrid& grid, std::int64_t steps, int unrolled);

/// Pixels of a whole strip that such a kernel can finish at a time.
int most_finished(const TileGrid& grid, Product product, std::int64_t steps);

}  // namespace fuseplan::cpu
