// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/program.hpp"
#include "kernels/cpu/stem/plan.hpp"

namespace fuseplan::cpu {

/// Entry points, in the order of stem_recipe's functions: one per plan.specs(), the transforms of
/// input and filters, the rows kernel, and the channel prologue if the chain has per-channel
/// values.
std::unique_ptr<Program> stem_program(const StemPlan& plan, const SplitChain& chain,
                                      std::span<const void* const> entries);

}  // namespace fuseplan::cpu
