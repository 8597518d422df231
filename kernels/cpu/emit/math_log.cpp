// SPDX-License-Identifier: MIT
#include <limits>

#include "kernels/cpu/emit/math.hpp"

namespace fuseplan::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNan = 0x7fc00000u;
constexpr float kLn2High = 0x1.62ep-1f;  // n * kLn2High is exact
constexpr float kLn2Low = 0x1.0bfbe8p-15f;
constexpr std::uint32_t kSqrtHalf = 0x3f3504f3u;

// (log(1 + r) - r + r^2 / 2) / r^3 on [sqrt(1/2) - 1, sqrt(2) - 1], relative error 2^-30.3.
constexpr float kLog[] = {0x1.555548p-2f,  -0x1.000006p-2f, 0x1.99a4b6p-3f,
                          -0x1.555c4ep-3f, 0x1.233766p-3f,  -0x1.fc2202p-4f,
                          0x1.e6f078p-4f,  -0x1.de3c44p-4f, 0x1.1457c0p-4f};

/// r = e ln 2 + log(1 + r)
void log_core(VectorCode& c, const Vec& r, const Vec& e) {
  Temp p(c), square(c);
  c.polynomial(p, r, kLog);
  c.vmulps(square, r, r);
  c.vmulps(p, p, r);
  c.vsubps(p, p, c.constant(0.5f));
  c.vmulps(p, p, square);  // log(1 + r) - r
  c.vfmadd231ps(p, e, c.constant(kLn2Low));
  c.vaddps(r, r, p);
  c.vfmadd231ps(r, e, c.constant(kLn2High));
}

/// What the logarithm r of u is where u is no positive number: -infinity for 0, NaN below, u itself
/// for infinity and NaN.
void log_specials(VectorCode& c, const Vec& r, const Vec& u) {
  if (c.is_avx512()) {
    // Four bits per class of u, from the lowest: quiet and signalling NaN (2: u as quiet NaN),
    // 0 (4: -infinity), 1 (0: r), -infinity (3: NaN), infinity (5), negative (3), positive (0).
    return c.vfixupimmps(r, u, c.bits(0x03530422u), 0);
  }
  Mask where(c);
  where.compare(u, c.constant(0.0f), Compare::eq);
  where.blend(r, c.constant(-kInfinity));
  where.compare(u, c.constant(0.0f), Compare::lt);
  where.blend(r, c.bits(kNan));
  where.compare(u, c.constant(std::numeric_limits<float>::max()), Compare::nle_unord);
  where.blend(r, u);
}

/// bits = (bits of u - those of sqrt(1/2)) >> 23, so that u / 2^bits lies in [sqrt(1/2), sqrt(2)).
void exponent_of(VectorCode& c, const Vec& bits, const Vec& u) {
  c.load_bits(bits, kSqrtHalf);
  c.vpsubd(bits, u, bits);
  c.vpsrad(bits, bits, 23);
}

}  // namespace

void emit_log(VectorCode& c, const Vec& x) {
  Temp r(c);
  {
    Temp e(c);
    exponent_of(c, e, x);
    c.vpslld(r, e, 23);
    c.vpsubd(r, x, r);
    c.vcvtdq2ps(e, e);
    c.vsubps(r, r, c.constant(1.0f));
    log_core(c, r, e);
  }
  log_specials(c, r, x);
  c.vmovaps(x, r);
}

// With u = fl(1 + x) = 2^e m, 1 + x = u + d and d = x - (u - 1) exactly, so
// log(1 + x) = e ln 2 + log(1 + r), r = (m - 1) + d 2^-e: one rounding, and r = x for tiny x.
void emit_log1p(VectorCode& c, const Vec& x) {
  Temp r(c);
  {
    Temp e(c), u(c), d(c);
    c.vaddps(u, x, c.constant(1.0f));
    c.vsubps(d, u, c.constant(1.0f));
    c.vsubps(d, x, d);
    exponent_of(c, e, u);
    c.vpslld(r, e, 23);
    c.vpsubd(u, u, r);
    c.vsubps(u, u, c.constant(1.0f));
    c.load(r, 1.0f);
    {
      Temp shifted(c);
      c.vpslld(shifted, e, 23);
      c.vpsubd(r, r, shifted);  // bits of 2^-e; negative for e = 128, where d does not matter
      c.vxorps(shifted, shifted, shifted);
      c.vpmaxsd(r, r, shifted);
    }
    c.vfmadd213ps(r, d, u);
    c.vcvtdq2ps(e, e);
    log_core(c, r, e);
  }
  c.vaddps(x, x, c.constant(1.0f));
  log_specials(c, r, x);
  c.vmovaps(x, r);
}

}  // namespace fuseplan::cpu
