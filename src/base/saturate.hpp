// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

namespace fuseplan {

/// `value` as an 8-bit integer: rounded to nearest even, then the nearest there is; NaN becomes the
/// lowest. Every kernel that stores i8 or u8 does the same.
template <std::integral Byte>
requires(sizeof(Byte) == 1) Byte saturate(float value) {
  constexpr float kLow = std::numeric_limits<Byte>::min(), kHigh = std::numeric_limits<Byte>::max();
  // The sum has no bits left for fractions, so that adding rounds as the processor does: to even.
  constexpr float kToInteger = 0x1.8p23f;
  const float above = value > kLow ? value : kLow;
  const float inside = above < kHigh ? above : kHigh;
  return static_cast<Byte>(static_cast<std::int32_t>((inside + kToInteger) - kToInteger));
}

}  // namespace fuseplan
