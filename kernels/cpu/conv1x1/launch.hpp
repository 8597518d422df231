// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/conv1x1/plan.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// Entry points in the order of conv1x1_recipe's functions.
std::unique_ptr<Program> conv1x1_program(Conv1x1Plan plan, const SplitChain& chain,
                                         std::span<const void* const> entries);

}  // namespace fuseplan::cpu
