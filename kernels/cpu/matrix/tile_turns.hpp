// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

/// Steps that a turn of a kernel's loop sums.
int unrolled_steps(Product product, std::int64_t steps, bool overlaps);

/// Steps that a kernel sums while it finishes a strip, whole turns: `finishing`, beside each of
/// which some of the strip's pixels are finished, and `quiet` ones between the first, which stores
/// the strip, and the first pixels, as sums that were just stored are better left alone.
struct Meanwhile {
  int quiet, finishing;
};
Meanwhile meanwhile(const TileGrid& grid, std::int64_t steps, int unrolled);

/// Pixels of a whole strip that such a kernel can finish at a time.
int most_finished(const TileGrid& grid, Product product, std::int64_t steps);

}  // namespace fuseplan::cpu
