// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/program.hpp"
#include "kernels/cpu/strassen/plan.hpp"

namespace fuseplan::cpu {

/// Entry points in the order of strassen_recipe's functions.
std::unique_ptr<Program> strassen_program(StrassenPlan plan, const SplitChain& chain,
                                          std::span<const void* const> entries);

}  // namespace fuseplan::cpu
