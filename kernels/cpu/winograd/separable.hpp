// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "kernels/cpu/emit/vector_code.hpp"
#include "kernels/cpu/winograd/axis.hpp"

namespace fuseplan::cpu {

/// Code that moves a vector between a register and place (row, column) of a matrix.
using MatrixAccess = std::function<void(int row, int column, const Vec& v)>;

/// Emits Y = V X H^T for matrices of vectors: `vertical` maps columns, then `horizontal` maps rows.
/// What is in between stays in the stack frame.
void emit_separable(VectorCode& code, const LinearMap& vertical, const LinearMap& horizontal,
                    const MatrixAccess& load, const MatrixAccess& store);

}  // namespace fuseplan::cpu
