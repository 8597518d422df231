// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace fuseplan::test {

// Running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, section 3.3).
//
// The oracle computes in double what the library computes in f32. A Bounded carries the double
// value and a bound on how far a correct f32 computation of the same formula may be from it. Every
// operation adds its own rounding to what its operands bring along:
//
//   sum, difference   e(a) + e(b)                         + 2u |a + b|
//   product           |a| e(b) + |b| e(a) + e(a) e(b)     + 2u |a b|
//   function f        largest |f(a +- e(a)) - f(a)|       + 16u |f(a)|     (f monotone)
//
// u = 2^-24. Basic operations get two roundings instead of one because a pass may turn a division
// into a product with a reciprocal; functions get 8 f32 epsilons. Results that are not exactly zero
// also get the smallest normal number, since the library flushes denormals. So cancellation,
// conditioning and the rest of the chain are in the bound without being written down per operator.
//
// An infinite error means that f32 rounding decides between outcomes without a common neighbourhood
// (NaN or not, overflow or not): such an element is undetermined and only counted.
struct Bounded {
  double value;
  double error = 0;

  bool determined() const { return error < std::numeric_limits<double>::infinity(); }
};

inline constexpr double kUnit = 0x1p-24;
inline constexpr double kArithmetic = 2 * kUnit;
inline constexpr double kFunction = 16 * kUnit;
inline constexpr double kFlush = FLT_MIN;
inline constexpr double kUndetermined = std::numeric_limits<double>::infinity();

/// Infinities and NaNs that operands without error lead to are themselves without error.
inline Bounded settle(double value, double error, bool determined = true) {
  if (!determined) return {value, kUndetermined};
  if (!std::isfinite(value)) return {value, 0};
  return {value, std::isnan(error) ? kUndetermined : error};
}

inline Bounded operator+(Bounded a, Bounded b) {
  const double value = a.value + b.value;
  const double error =
      a.error + b.error + kArithmetic * std::fabs(value) + (value != 0 ? kFlush : 0);
  return settle(value, error, a.determined() && b.determined());
}

inline Bounded operator-(Bounded a) { return {-a.value, a.error}; }
inline Bounded operator-(Bounded a, Bounded b) { return a + -b; }

inline Bounded operator*(Bounded a, Bounded b) {
  const double value = a.value * b.value;
  // Whether infinity times something that may be zero is NaN, and which infinity, is open.
  const bool open = (std::isinf(a.value) && std::fabs(b.value) <= b.error && b.error > 0) ||
                    (std::isinf(b.value) && std::fabs(a.value) <= a.error && a.error > 0);
  const double error = std::fabs(a.value) * b.error + std::fabs(b.value) * a.error +
                       a.error * b.error + kArithmetic * std::fabs(value) +
                       (a.value != 0 && b.value != 0 ? kFlush : 0);
  return settle(value, error, a.determined() && b.determined() && !open);
}

/// f(x) for a monotone (or even, or piecewise monotone and 1-Lipschitz) f. `rounding` is relative
/// to the result; 0 for functions that select or negate and never round.
template <typename F>
Bounded apply(const F& f, Bounded x, double rounding) {
  const double value = f(x.value);
  if (!x.determined()) return {value, kUndetermined};
  if (!std::isfinite(x.value)) return {value, 0};
  double spread = 0;
  if (x.error > 0) {
    const double low = f(x.value - x.error), high = f(x.value + x.error);
    if (low == value && high == value) {
      spread = 0;  // also where all three are the same infinity
    } else if (std::isnan(low) && std::isnan(high) && std::isnan(value)) {
      return {value, 0};
    } else {
      spread = std::max(std::fabs(low - value), std::fabs(high - value));
      if (std::isnan(low) || std::isnan(high) || !std::isfinite(value))
        return {value, kUndetermined};
    }
  }
  const bool exact = rounding == 0 || (x.value == 0 && value == 0);
  return settle(value, spread + (exact ? 0 : rounding * std::fabs(value) + kFlush));
}

}  // namespace fuseplan::test
