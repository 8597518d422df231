// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/int8/plan.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// Entry points, in the order of int8_recipe's functions: one per plan.specs(), the rows kernel
/// unless the tiles finish, and the channel prologue if the chain has per-channel values.
std::unique_ptr<Program> byte_program(const BytePlan& plan, const SplitChain& chain,
                                      std::span<const void* const> entries);

}  // namespace fuseplan::cpu
