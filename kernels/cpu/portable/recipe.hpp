// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "expr/chain.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// Kernels in plain C++, for every CPU and every Problem whose tensors are f32, f16 or bf16 (they
/// may differ). Generates no code: the plan is interpreted over blocks of values.
std::shared_ptr<const Recipe> portable_recipe(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan::cpu
