// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Convolutions with one input channel a group: nothing is summed over channels, so lanes are
// neighbouring channels (channels last) or neighbouring columns of one channel (channels first),
// and every tap is one load and one multiply-add.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> depthwise_refusal(const Problem& problem, const SplitChain& chain,
                                             Isa isa);

/// The problem is one that is not refused.
std::shared_ptr<const Recipe> depthwise_recipe(const Problem& problem, const SplitChain& chain,
                                               Isa isa);

}  // namespace fuseplan::cpu
