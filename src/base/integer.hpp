// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace fuseplan {

/// For a >= 0 and b > 0: how many pieces of b cover a.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// The least multiple of `unit` that is not below `value`.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

/// The digits of a number whose places count differently, the fastest first.
class Digits {
 public:
  explicit constexpr Digits(std::int64_t number) : rest_(number) {}
  constexpr std::int64_t take(std::int64_t count) {
    const std::int64_t digit = rest_ % count;
    rest_ /= count;
    return digit;
  }
  /// What no place has taken.
  constexpr std::int64_t rest() const { return rest_; }

 private:
  std::int64_t rest_;
};

}  // namespace fuseplan
