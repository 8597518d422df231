// SPDX-License-Identifier: MIT
// The functions of src/expr/functions.def that no instruction computes, the same on every target:
// within 3 ulp, NaN and infinities as the definitions there. Reductions and polynomials: S.
// Moshier, Cephes Math Library (single precision), netlib.org/cephes; erf and pow as in
// kernels/cpu/emit.

FP_FN float fp_min(float a, float b) { return a < b ? a : b; }
FP_FN float fp_max(float a, float b) { return a > b ? a : b; }
FP_FN float fp_rsqrt(float x) { return 1.0f / sqrtf(x); }
FP_FN float fp_power_of_two(int exponent) { return fp_as_float((unsigned)(exponent + 127) << 23); }

// x as n ln 2 + r with n integral and |r| <= ln 2 / 2; and e^r - 1.
struct fp_reduced {
  int n;
  float expm1_r;
};
// Adding 1.5 * 2^23 rounds to integers, which stay in the low bits.
#define FP_TO_INTEGER 12582912.0f
// `shifted` is n + FP_TO_INTEGER.
FP_FN fp_reduced fp_reduced_exp(float shifted, float r) {
  float p = 1.9875691500e-4f;
  p = fmaf(p, r, 1.3981999507e-3f);
  p = fmaf(p, r, 8.3334519073e-3f);
  p = fmaf(p, r, 4.1665795894e-2f);
  p = fmaf(p, r, 1.6666665459e-1f);
  p = fmaf(p, r, 5.0000001201e-1f);
  const int whole = (int)(fp_as_bits(shifted) - fp_as_bits(FP_TO_INTEGER));
  return {whole, fmaf(p * r, r, r)};
}
FP_FN fp_reduced fp_reduce_exp(float x) {
  const float shifted = fmaf(x, 1.44269504f, FP_TO_INTEGER);
  const float n = shifted - FP_TO_INTEGER;
  return fp_reduced_exp(shifted, fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, x)));
}
FP_FN fp_reduced fp_reduce_exp2(float x) {
  const float shifted = x + FP_TO_INTEGER;
  return fp_reduced_exp(shifted, (x - (shifted - FP_TO_INTEGER)) * 0.693147181f);
}

// Outside this range e^x is infinite or rounds to zero. NaN stays NaN.
FP_FN float fp_clamp_exp(float x) {
  const float low = x < -104.0f ? -104.0f : x;
  return low > 89.0f ? 89.0f : low;
}

FP_FN float fp_value_of(fp_reduced reduced) {
  // 2^n in two factors, neither of which leaves the range of floats.
  const int half = reduced.n >> 1;
  return (reduced.expm1_r + 1.0f) * fp_power_of_two(half) * fp_power_of_two(reduced.n - half);
}
FP_FN float fp_exp(float x) { return fp_value_of(fp_reduce_exp(fp_clamp_exp(x))); }
FP_FN float fp_exp2(float x) {
  const float low = x < -150.0f ? -150.0f : x;
  return fp_value_of(fp_reduce_exp2(low > 129.0f ? 129.0f : low));
}

FP_FN float fp_expm1(float x) {
  const float inside = fp_clamp_exp(x);
  const fp_reduced reduced = fp_reduce_exp(inside > 80.0f ? 80.0f : inside);
  const int n = reduced.n < -100 ? -100 : reduced.n;
  const float scale = fp_power_of_two(n);
  const float near = fmaf(reduced.expm1_r, scale, scale - 1.0f);
  return inside > 80.0f ? fp_exp(x) : near;
}

FP_FN float fp_log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const unsigned bits = fp_as_bits(scaled);  // wraps where x < 0: the result is NaN
  const int exponent = (int)(bits - 0x3f3504f3u) >> 23;
  const float m = fp_as_float(bits - ((unsigned)exponent << 23)) - 1.0f;
  const float e = (float)exponent - (tiny ? 23.0f : 0.0f);
  float p = 7.0376836292e-2f;
  p = fmaf(p, m, -1.1514610310e-1f);
  p = fmaf(p, m, 1.1676998740e-1f);
  p = fmaf(p, m, -1.2420140846e-1f);
  p = fmaf(p, m, 1.4249322787e-1f);
  p = fmaf(p, m, -1.6668057665e-1f);
  p = fmaf(p, m, 2.0000714765e-1f);
  p = fmaf(p, m, -2.4999993993e-1f);
  p = fmaf(p, m, 3.3333331174e-1f);
  const float z = m * m;
  const float tail = p * m * z - e * 2.12194440e-4f - 0.5f * z;
  const float finite = (m + tail) + e * 0.693359375f;
  const float positive = x < FP_INFINITY ? finite : x;  // infinity and NaN answer themselves
  const float defined = x < 0.0f ? FP_NAN : positive;
  return x == 0.0f ? -FP_INFINITY : defined;
}

// log(u) for u = fl(1 + x), corrected by the rounding of u (W. Kahan).
FP_FN float fp_log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;
  const float of_u = fp_log(u);
  const bool plain = u == 0.0f || !(x < FP_INFINITY);
  const float result = plain ? of_u : of_u + lost;
  return fabsf(x) < 5.96046448e-8f ? x : result;
}

FP_FN float fp_tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = fmaf(p, z, 2.06390887954e-2f);
  p = fmaf(p, z, -5.37397155531e-2f);
  p = fmaf(p, z, 1.33314422036e-1f);
  p = fmaf(p, z, -3.33332819422e-1f);
  const float near = fmaf(p * z, x, x);
  const float far = 1.0f - 2.0f / (fp_exp(2.0f * x) + 1.0f);
  return fabsf(x) < 0.625f ? near : far;
}

FP_FN float fp_logistic(float x) { return 1.0f / (1.0f + fp_exp(-x)); }
FP_FN float fp_logistic2(float x) { return 1.0f / (1.0f + fp_exp2(-x)); }

// x + x P(x^2) below 7/8, else 1 - 2^Q(|x|) with x's sign, where |x| is limited to 4.
FP_FN float fp_erf(float x) {
  const float z = x * x;
  float p = -0x1.453aaep-11f;
  p = fmaf(p, z, 0x1.49c9fep-8f);
  p = fmaf(p, z, -0x1.b6f38ap-6f);
  p = fmaf(p, z, 0x1.ce211ep-4f);
  p = fmaf(p, z, -0x1.81270cp-2f);
  p = fmaf(p, z, 0x1.06eba6p-3f);
  const float near = fmaf(p, x, x);
  const float magnitude = fabsf(x);
  const float t = magnitude > 4.0f ? 4.0f : magnitude;
  float q = 0x1.300fb4p-12f;
  q = fmaf(q, t, -0x1.245efcp-8f);
  q = fmaf(q, t, 0x1.08f974p-5f);
  q = fmaf(q, t, -0x1.344004p-3f);
  q = fmaf(q, t, -0x1.d6550ep-1f);
  q = fmaf(q, t, -0x1.a094a0p+0f);
  q = fmaf(q, t, -0x1.942638p-13f);
  const float far = 1.0f - fp_exp(q * 0.693147181f);
  return magnitude < 0.875f ? near : x < 0.0f ? -far : far;
}

// |x| = 2^e (1 + r), r exact; then y log2|x| in f64, because an error in it is an error of the
// result's relative size; then NaN, zeros, ones and signs of IEEE 754-2019, 9.2.1.
FP_FN float fp_pow_positive(float x, float y) {
  const unsigned bits = fp_as_bits(x);
  const int e = (int)(bits - 0x3f3504f3u) >> 23;
  const double r = (double)(fp_as_float(bits - ((unsigned)e << 23)) - 1.0f);
  const double s = r / (r + 2.0), v = s * s;
  double p = 0x1.21b17bf0505d5p-2;
  p = p * v + 0x1.47954c907b70bp-2;
  p = p * v + 0x1.a61a2f025f92fp-2;
  p = p * v + 0x1.2776c292fbce3p-1;
  p = p * v + 0x1.ec709dc53c9d1p-1;
  p = p * v + 0x1.71547652b8251p+1;
  double whole = (double)y * (p * s + (double)e);
  whole = whole > 200.0 ? 200.0 : whole < -200.0 ? -200.0 : whole;
  const int n = (int)(whole < 0.0 ? whole - 0.5 : whole + 0.5);
  const float f = fp_exp((float)((whole - (double)n) * 0.69314718055994531));
  const int half = n >> 1;
  return f * fp_power_of_two(half) * fp_power_of_two(n - half);
}
FP_FN float fp_pow(float x, float y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return FP_NAN;
  const float magnitude = fabsf(x), reach = fabsf(y);
  if (reach == FP_INFINITY) {
    if (magnitude == 1.0f) return 1.0f;
    return (magnitude > 1.0f) == (y > 0.0f) ? FP_INFINITY : 0.0f;
  }
  const bool integral = reach >= 8388608.0f || (float)(int)y == y;
  const bool odd = integral && reach < 16777216.0f && ((int)y & 1) != 0;
  const bool negative = (fp_as_bits(x) >> 31) != 0;
  float result;
  if (magnitude == 0.0f || magnitude == FP_INFINITY) {
    result = (magnitude == 0.0f) == (y > 0.0f) ? 0.0f : FP_INFINITY;
  } else {
    if (negative && !integral) return FP_NAN;
    result = fp_pow_positive(magnitude, y);
  }
  return negative && odd ? -result : result;
}
