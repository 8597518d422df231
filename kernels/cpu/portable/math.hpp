// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fuseplan::cpu {

// Functions of one float without branches and calls, so that loops over them vectorise; libm's do
// not. Within 3 ulp, NaN and infinities as in functions.def. Reductions and polynomials: S.
// Moshier, Cephes Math Library (single precision), netlib.org/cephes.

inline float power_of_two(std::int32_t exponent) {
  return std::bit_cast<float>((exponent + 127) << 23);
}

inline constexpr float kToInteger = 0x1.8p23f;  // adding it rounds to integers, in the low bits

/// x as n ln 2 + r with n integral, |r| <= ln 2 / 2; and e^r - 1.
struct ReducedExp {
  std::int32_t n;
  float expm1_r;
};
/// `shifted` is n + kToInteger.
inline ReducedExp reduced_exp(float shifted, float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const auto n_bits =
      std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kToInteger);
  return {static_cast<std::int32_t>(n_bits), p * r * r + r};
}
inline ReducedExp reduce_exp(float x) {
  const float shifted = x * 1.44269504f + kToInteger;
  const float n = shifted - kToInteger;
  return reduced_exp(shifted, (x - n * 0.693359375f) + n * 2.12194440e-4f);
}
inline ReducedExp reduce_exp2(float x) {
  const float shifted = x + kToInteger;
  return reduced_exp(shifted, (x - (shifted - kToInteger)) * 0.693147181f);
}

/// Outside this range e^x is infinite or rounds to zero. NaN stays NaN.
inline float clamp_exp(float x) {
  const float low = x < -104.0f ? -104.0f : x;
  return low > 89.0f ? 89.0f : low;
}

inline float value_of(const ReducedExp& reduced) {
  // 2^n in two factors, neither of which leaves the range of floats.
  const std::int32_t half = reduced.n >> 1;
  return (reduced.expm1_r + 1.0f) * power_of_two(half) * power_of_two(reduced.n - half);
}
inline float exp_branchless(float x) { return value_of(reduce_exp(clamp_exp(x))); }
inline float exp2_branchless(float x) {
  const float low = x < -150.0f ? -150.0f : x;
  return value_of(reduce_exp2(low > 129.0f ? 129.0f : low));
}

inline float expm1_branchless(float x) {
  const float inside = clamp_exp(x);
  const ReducedExp reduced = reduce_exp(inside > 80.0f ? 80.0f : inside);
  // 2^n is halved for the sake of n up to 116 and of the range of its bit pattern below.
  const std::int32_t n = reduced.n < -100 ? -100 : reduced.n;
  const float scale = power_of_two(n);
  const float near = reduced.expm1_r * scale + (scale - 1.0f);
  return inside > 80.0f ? exp_branchless(x) : near;
}

inline float log_branchless(float x) {
  const float scaled = x < 0x1p-126f ? x * 0x1p23f : x;
  const float lifted = x < 0x1p-126f ? 23.0f : 0.0f;
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const auto bits = std::bit_cast<std::uint32_t>(scaled);  // wraps where x < 0: the result is NaN
  const std::int32_t exponent = static_cast<std::int32_t>(bits - 0x3f3504f3u) >> 23;
  const float m = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23)) - 1.0f;
  const float e = static_cast<float>(exponent) - lifted;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float z = m * m;
  const float tail = p * m * z - e * 2.12194440e-4f - 0.5f * z;
  const float finite = (m + tail) + e * 0.693359375f;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float positive = x < kInfinity ? finite : x;  // infinity and NaN answer themselves
  const float defined = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : positive;
  return x == 0.0f ? -kInfinity : defined;
}

/// log(u) for u = fl(1 + x), corrected by the rounding of u (W. Kahan).
inline float log1p_branchless(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;
  const float corrected = log_branchless(u) + lost;
  const bool plain = u == 0.0f || !(x < std::numeric_limits<float>::infinity());
  const float result = plain ? log_branchless(u) : corrected;
  return std::fabs(x) < 0x1p-24f ? x : result;
}

inline float tanh_branchless(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  const float far = 1.0f - 2.0f / (exp_branchless(2.0f * x) + 1.0f);
  return std::fabs(x) < 0.625f ? near : far;
}

inline float logistic_branchless(float x) { return 1.0f / (1.0f + exp_branchless(-x)); }
inline float logistic2_branchless(float x) { return 1.0f / (1.0f + exp2_branchless(-x)); }

}  // namespace fuseplan::cpu
