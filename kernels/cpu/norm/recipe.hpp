// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Batch normalisation for training, forward and backward, with the pointwise ops around it.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> norm_refusal(const Problem& problem, const SplitChain& chain, Isa isa);

std::shared_ptr<const Recipe> norm_recipe(const Problem& problem, const SplitChain& chain, Isa isa);

}  // namespace fuseplan::cpu
