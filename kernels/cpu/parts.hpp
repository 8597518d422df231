// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// A few units of work for each part, or they cannot be dealt evenly.
inline constexpr std::int64_t kUnitsPerPart = 4;

/// How many parts are worth a thread each. Waking one costs some microseconds, in which one that is
/// awake does `flops_per_part`.
inline int parts_worth(const ConvGeometry& conv, double flops_per_part, int threads) {
  return static_cast<int>(std::clamp(conv.flops() / flops_per_part, 1.0, double(threads)));
}

}  // namespace fuseplan::cpu
