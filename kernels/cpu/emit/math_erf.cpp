// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/math.hpp"
#include "kernels/cpu/emit/math_table.hpp"

namespace fuseplan::cpu {

namespace {

constexpr float kSplit = 0.875f;
// erf(x) / x - 1 in x^2 for |x| <= kSplit, relative error of erf 2^-26.8.
constexpr float kNear[] = {0x1.06eba6p-3f,  -0x1.81270cp-2f, 0x1.ce211ep-4f,
                           -0x1.b6f38ap-6f, 0x1.49c9fep-8f,  -0x1.453aaep-11f};
// log2(1 - erf(x)) for kSplit <= x <= 4, error relative to erf 2^-29.
constexpr float kFar[] = {-0x1.942638p-13f, -0x1.a094a0p+0f, -0x1.d6550ep-1f, -0x1.344004p-3f,
                          0x1.08f974p-5f,   -0x1.245efcp-8f, 0x1.300fb4p-12f};

}  // namespace

// |x| < kSplit: x + x P(x^2). Else 1 - 2^Q(|x|) with x's sign, |x| limited to 4 where it rounds
// to 1.
void emit_erf(VectorCode& c, const Vec& x) {
  if (c.is_avx512()) return emit_erf_by_table(c, x);
  Temp t(c), far(c);
  c.load(t, 4.0f);
  c.load_bits(far, 0x7fffffffu);
  c.vandps(far, x, far);
  c.vminps(t, t, far);  // NaN, the second operand, stays
  c.polynomial(far, t, kFar);
  {
    Temp n(c);
    c.round_to_integer(n, far);
    c.vsubps(far, far, n);
    emit_exp2_fraction(c, far, n);
  }
  {
    Temp one(c);
    c.load(one, 1.0f);
    c.vsubps(far, one, far);
    c.vandps(one, x, c.bits(0x80000000u));
    c.vorps(far, far, one);
  }
  Mask large(c);
  large.compare(t, c.constant(kSplit), Compare::nle_unord);
  Temp near(c);
  c.vmulps(t, t, t);
  c.polynomial(near, t, kNear);
  c.vfmadd213ps(near, x, x);
  large.blend(near, Vec(far));
  c.vmovaps(x, near);
}

void emit_rsqrt(VectorCode& c, const Vec& x) {
  Temp one(c);
  c.load(one, 1.0f);
  c.vsqrtps(x, x);
  c.vdivps(x, one, x);
}

}  // namespace fuseplan::cpu
