// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Convolutions with one input channel a group, rows contiguous: lanes are neighbouring columns of
// one channel. For wide strides, whose input is copied apart by phase; what kernels/cpu/grouped
// takes is faster there. 8-bit integers are summed in f32: exactly, if there are few of them.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> depthwise_refusal(const Problem& problem, const SplitChain& chain,
                                             Isa isa);

/// The problem is one that is not refused.
std::shared_ptr<const Recipe> depthwise_recipe(const Problem& problem, const SplitChain& chain,
                                               Isa isa);

}  // namespace fuseplan::cpu
