// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/grouped/plan.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// `entries`: the kernel, then the chain's channel prologue if it has one.
std::unique_ptr<Program> grouped_program(const GroupedPlan& plan, const SplitChain& chain,
                                         std::span<const void* const> entries);

}  // namespace fuseplan::cpu
