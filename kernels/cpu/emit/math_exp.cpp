// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/math.hpp"
#include "kernels/cpu/emit/math_table.hpp"

namespace fuseplan::cpu {

namespace {

constexpr float kLog2E = 0x1.715476p0f;
constexpr float kLn2High = 0x1.62ep-1f;  // 12 bits: n * kLn2High is exact for |n| < 4096
constexpr float kLn2Low = 0x1.0bfbe8p-15f;

// (e^r - 1 - r) / r^2 on |r| <= 0.3473, relative error of e^r 2^-28.2.
constexpr float kExp[] = {0x1.fffffcp-2f, 0x1.555490p-3f, 0x1.5558f8p-5f, 0x1.123b02p-7f,
                          0x1.6a2256p-10f};
// The same with the error relative to e^r - 1: 2^-26.2.
constexpr float kExpm1[] = {0x1.fffffep-2f, 0x1.5554aep-3f, 0x1.555676p-5f, 0x1.122886p-7f,
                            0x1.6bebe0p-10f};
// (2^f - 1) / f on |f| <= 0.501, relative error of 2^f 2^-28.9.
constexpr float kExp2[] = {0x1.62e430p-1f, 0x1.ebfbdcp-3f,  0x1.c6aee6p-5f,
                           0x1.3b2d52p-7f, 0x1.5f400ep-10f, 0x1.41faa0p-13f};

/// x = min(max(x, low), high), NaN stays NaN.
void clamp(VectorCode& c, const Vec& x, float low, float high) {
  Temp bound(c);
  c.load(bound, high);
  c.vminps(x, bound, x);
  c.load(bound, low);
  c.vmaxps(x, bound, x);
}

/// n = round(x / ln 2), x = x - n ln 2 (Cody and Waite).
void reduce(VectorCode& c, const Vec& x, const Vec& n) {
  c.vmulps(n, x, c.constant(kLog2E));
  c.round_to_integer(n, n);
  c.vfnmadd231ps(x, n, c.constant(kLn2High));
  c.vfnmadd231ps(x, n, c.constant(kLn2Low));
}

/// x = e^x - 1 + offset, for x >= -25 or so and NaN, up to overflow. With n the rounded exponent,
/// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), in three terms with 2^(n-1) so that n = 128 stays in range.
void expm1_core(VectorCode& c, const Vec& x) {
  Temp n(c), p(c);
  reduce(c, x, n);
  c.polynomial(p, x, kExpm1);
  {
    Temp square(c);
    c.vmulps(square, x, x);
    c.vfmadd213ps(p, square, x);  // e^r - 1
  }
  c.vcvtps2dq(n, n);
  c.vpslld(n, n, 23);
  c.vpaddd(n, n, c.constant(0.5f));  // 2^(n - 1)
  c.vsubps(x, n, c.constant(0.5f));
  c.vaddps(p, p, p);
  c.vfmadd213ps(p, n, x);
  c.vaddps(x, x, p);
}

constexpr float kLeastExp = -104.0f;  // e^x is 0 from there on

/// x = e^x, for x from kLeastExp up to overflow, and NaN; on AVX2.
void exp_core(VectorCode& c, const Vec& x) {
  Temp n(c), p(c);
  reduce(c, x, n);
  c.polynomial(p, x, kExp);
  c.vfmadd213ps(p, x, c.constant(1.0f));
  c.vfmadd213ps(x, p, c.constant(1.0f));
  c.scale(x, n);
}

}  // namespace

void emit_exp(VectorCode& c, const Vec& x) {
  clamp(c, x, kLeastExp, 89.0f);
  if (c.is_avx512()) return emit_exp_by_table(c, x);
  exp_core(c, x);
}

void emit_exp2_fraction(VectorCode& c, const Vec& x, const Vec& n) {
  Temp p(c);
  c.polynomial(p, x, kExp2);
  c.vfmadd213ps(x, p, c.constant(1.0f));
  c.scale(x, n);
}

void emit_expm1(VectorCode& c, const Vec& x) {
  clamp(c, x, -20.0f, 88.75f);
  if (c.is_avx512()) return emit_expm1_by_table(c, x);
  expm1_core(c, x);
}

// 1 / (1 + e^-x). Beyond +-88 the result is 1 or below the normal range; up to there the sum is
// finite.
void emit_logistic(VectorCode& c, const Vec& x, const Interval& interval) {
  constexpr float kMost = 88.0f;
  if (!interval.inside(-kMost, kMost)) clamp(c, x, -kMost, kMost);
  if (c.is_avx512()) return emit_logistic_by_table(c, x);
  c.vxorps(x, x, c.bits(0x80000000u));
  exp_core(c, x);
  c.vaddps(x, x, c.constant(1.0f));
  c.reciprocal(x, x);
}

// 1 / (1 + 2^-x), likewise.
void emit_logistic2(VectorCode& c, const Vec& x, const Interval& interval) {
  constexpr float kMost = 127.0f;
  if (!interval.inside(-kMost, kMost)) clamp(c, x, -kMost, kMost);
  if (c.is_avx512()) return emit_logistic2_by_table(c, x);
  Temp n(c);
  c.vxorps(x, x, c.bits(0x80000000u));
  c.round_to_integer(n, x);
  c.vsubps(x, x, n);
  emit_exp2_fraction(c, x, n);
  c.vaddps(x, x, c.constant(1.0f));
  c.reciprocal(x, x);
}

// (e^2x - 1) / ((e^2x - 1) + 2): no cancellation anywhere, and exactly 1 where it rounds to 1.
void emit_tanh(VectorCode& c, const Vec& x) {
  if (c.is_avx512()) return emit_tanh_by_table(c, x);
  clamp(c, x, -10.0f, 10.0f);
  c.vaddps(x, x, x);
  expm1_core(c, x);
  Temp denominator(c);
  c.vaddps(denominator, x, c.constant(2.0f));
  c.vdivps(x, x, denominator);
}

}  // namespace fuseplan::cpu
