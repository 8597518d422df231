// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/direct/plan.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// Entry points, in the order of direct_recipe's functions: one per plan.specs(), the rows kernel,
/// and the channel prologue if the chain has per-channel values.
std::unique_ptr<Program> direct_program(const DirectPlan& plan, const SplitChain& chain,
                                        std::span<const void* const> entries);

}  // namespace fuseplan::cpu
