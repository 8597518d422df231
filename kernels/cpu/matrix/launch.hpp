// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "expr/chain.hpp"
#include "kernels/cpu/matrix/plan.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// Entry points, in the order of matrix_recipe's functions: begin, end, store, one per
/// plan.specs(), one per plan.strips() or else the rows kernel, and the channel prologue if the
/// chain has per-channel values.
std::unique_ptr<Program> matrix_program(const MatrixPlan& plan, const SplitChain& chain,
                                        std::span<const void* const> entries);

}  // namespace fuseplan::cpu
