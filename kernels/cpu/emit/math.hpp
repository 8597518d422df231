// SPDX-License-Identifier: MIT
#pragma once

#include "expr/interval.hpp"
#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {

// Vectorised functions, in place: x is replaced by f(x). Accurate to a few units in the last place
// over the whole range (test/unit/emit_math_test.cpp holds the bounds); results below the smallest
// normal number are zero, denormal arguments count as zero (the caller runs with FTZ and DAZ).
// Polynomials are minimax fits of our own: Remez exchange in 60-digit arithmetic, the error
// weighted to be relative to the function's result, coefficients rounded to f32.

void emit_exp(VectorCode& code, const Vec& x);
void emit_expm1(VectorCode& code, const Vec& x);
/// x is known to be within `interval`, or NaN; so with the next.
void emit_logistic(VectorCode& code, const Vec& x, const Interval& interval);
void emit_logistic2(VectorCode& code, const Vec& x, const Interval& interval);
void emit_tanh(VectorCode& code, const Vec& x);
void emit_log(VectorCode& code, const Vec& x);
void emit_log1p(VectorCode& code, const Vec& x);
void emit_erf(VectorCode& code, const Vec& x);
void emit_rsqrt(VectorCode& code, const Vec& x);
/// x to the power of y; y is a different register and is kept.
void emit_pow(VectorCode& code, const Vec& x, const Vec& y);

/// x = 2^(x + n) for |x| <= 1/2 and integral |n| <= 250; n is clobbered.
void emit_exp2_fraction(VectorCode& code, const Vec& x, const Vec& n);

}  // namespace fuseplan::cpu
