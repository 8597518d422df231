// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {

// Functions on AVX-512 whose coefficients are looked up per lane: a permutation of a table of 16
// floats costs as much as a step of a polynomial, and saves several.

/// e^x for x <= 89 or so; what is too small becomes 0.
void emit_exp_by_table(VectorCode& code, const Vec& x);
/// e^x - 1 for -20 <= x <= 88.75.
void emit_expm1_by_table(VectorCode& code, const Vec& x);
/// 1 / (1 + e^-x) for |x| <= 88, and 1 / (1 + 2^-x) for |x| <= 127.
void emit_logistic_by_table(VectorCode& code, const Vec& x);
void emit_logistic2_by_table(VectorCode& code, const Vec& x);
void emit_tanh_by_table(VectorCode& code, const Vec& x);
void emit_erf_by_table(VectorCode& code, const Vec& x);

}  // namespace fuseplan::cpu
