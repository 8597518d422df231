// SPDX-License-Identifier: MIT
#include <limits>

#include "kernels/cpu/emit/math.hpp"

namespace fuseplan::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// log2((1 + s) / (1 - s)) / s in s^2 for |s| <= 0.1716, relative error 2^-45.
constexpr double kLog2[] = {0x1.71547652b8251p+1, 0x1.ec709dc53c9d1p-1, 0x1.2776c292fbce3p-1,
                            0x1.a61a2f025f92fp-2, 0x1.47954c907b70bp-2, 0x1.21b17bf0505d5p-2};

/// Splits |x| = 2^e (1 + r) with r exact; e is -infinity, +infinity or NaN where |x| is 0 or such.
void split(VectorCode& c, const Vec& x, const Vec& e, const Vec& r) {
  Temp a(c);
  c.vandps(a, x, c.bits(0x7fffffffu));
  c.load_bits(r, 0x3f3504f3u);  // sqrt(1/2)
  c.vpsubd(e, a, r);
  c.vpsrad(e, e, 23);
  c.vpslld(r, e, 23);
  c.vpsubd(r, a, r);
  c.vsubps(r, r, c.constant(1.0f));
  c.vcvtdq2ps(e, e);
  Mask special(c);
  special.compare(a, c.constant(0.0f), Compare::eq);
  special.blend(e, c.constant(-kInfinity));
  special.compare(a, c.constant(std::numeric_limits<float>::max()), Compare::nle_unord);
  special.blend(e, Vec(a));
}

/// One half of the lanes, widened to f64.
void widen(VectorCode& c, const Vec& d, const Vec& v, int half) {
  const Vec low = c.half(d);
  if (half == 0) {
    c.vcvtps2pd(d, c.half(v));
  } else if (c.is_avx512()) {
    c.vextractf64x4(Xbyak::Ymm(low.getIdx()), Xbyak::Zmm(v.getIdx()), 1);
    c.vcvtps2pd(d, low);
  } else {
    c.vextractf128(low, Xbyak::Ymm(v.getIdx()), 1);
    c.vcvtps2pd(d, low);
  }
}

/// Narrows to f32 into one half of the lanes of v; wide is clobbered.
void narrow(VectorCode& c, const Vec& v, const Vec& wide, int half) {
  const Vec low = c.half(wide);
  if (c.is_avx512()) {
    c.vcvtpd2ps(Xbyak::Ymm(low.getIdx()), wide);
    c.vinsertf64x4(Xbyak::Zmm(v.getIdx()), Xbyak::Zmm(v.getIdx()), Xbyak::Ymm(low.getIdx()), half);
  } else {
    c.vcvtpd2ps(low, wide);
    c.vinsertf128(Xbyak::Ymm(v.getIdx()), Xbyak::Ymm(v.getIdx()), low, half);
  }
}

/// In f64, for one half of the lanes: y log2|x| = n + f, n integral, |f| <= 1/2. e and r become n
/// and f. f64 because an error in y log2|x| is an error of the result's relative size.
void exponent_half(VectorCode& c, const Vec& e, const Vec& r, const Vec& y, int half) {
  Temp s(c), p(c), v(c);
  widen(c, s, r, half);
  c.vaddpd(p, s, c.constant64(2.0));
  c.vdivpd(s, s, p);
  c.vmulpd(v, s, s);
  c.load64(p, std::end(kLog2)[-1]);
  for (int i = static_cast<int>(std::size(kLog2)) - 2; i >= 0; --i)
    c.vfmadd213pd(p, v, c.constant64(kLog2[i]));
  widen(c, v, e, half);
  c.vfmadd231pd(v, p, s);  // log2|x|
  widen(c, p, y, half);
  c.vmulpd(v, v, p);
  c.load64(p, 200.0);  // 2^200 is infinite and 2^-200 zero in f32
  c.vminpd(v, p, v);
  c.load64(p, -200.0);
  c.vmaxpd(v, p, v);
  if (c.is_avx512()) {
    c.vrndscalepd(p, v, 0);
  } else {
    c.vroundpd(p, v, 0);
  }
  c.vsubpd(v, v, p);
  narrow(c, e, p, half);
  narrow(c, r, v, half);
}

/// Sign of the result and NaN for negative x (IEEE 754-2019, 9.2.1).
void negative_base(VectorCode& c, const Vec& result, const Vec& x, const Vec& y) {
  Temp t(c);
  Mask integral(c), where(c);
  c.round_to_integer(t, y);
  integral.compare(t, y, Compare::eq);
  c.vmulps(t, y, c.constant(0.5f));
  c.round_to_integer(t, t);
  c.vaddps(t, t, t);
  where.compare(t, y, Compare::neq_unord);
  where.both(where, integral);  // odd
  c.vandps(t, x, c.bits(0x80000000u));
  c.vorps(t, t, result);
  where.blend(result, Vec(t));
  where.compare(x, c.constant(0.0f), Compare::lt);
  where.only_first(where, integral);
  integral.compare(x, c.constant(-kInfinity), Compare::eq);
  where.only_first(where, integral);
  where.blend(result, c.bits(0x7fc00000u));
}

/// x^0 and 1^y are 1 even for NaN; so is (-1)^(+-infinity).
void ones(VectorCode& c, const Vec& result, const Vec& x, const Vec& y) {
  Mask where(c);
  where.compare(y, c.constant(0.0f), Compare::eq);
  where.blend(result, c.constant(1.0f));
  where.compare(x, c.constant(1.0f), Compare::eq);
  where.blend(result, c.constant(1.0f));
  Mask infinite(c);
  Temp t(c);
  c.vandps(t, y, c.bits(0x7fffffffu));
  infinite.compare(t, c.constant(kInfinity), Compare::eq);
  where.compare(x, c.constant(-1.0f), Compare::eq);
  where.both(where, infinite);
  where.blend(result, c.constant(1.0f));
}

}  // namespace

void emit_pow(VectorCode& c, const Vec& x, const Vec& y) {
  Temp result(c);
  {
    Temp e(c);
    split(c, x, e, result);
    exponent_half(c, e, result, y, 0);
    exponent_half(c, e, result, y, 1);
    emit_exp2_fraction(c, result, e);
  }
  negative_base(c, result, x, y);
  ones(c, result, x, y);
  c.vmovaps(x, result);
}

}  // namespace fuseplan::cpu
