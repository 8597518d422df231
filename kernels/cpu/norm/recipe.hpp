// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/norm/config.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Batch normalisation for training, forward and backward, with the pointwise ops around it.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> norm_refusal(const Problem& problem, const SplitChain& chain, Isa isa);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<NormConfig> norm_configs(const Problem& problem, const SplitChain& chain);

std::shared_ptr<const Recipe> norm_recipe(const Problem& problem, const SplitChain& chain, Isa isa,
                                          const NormConfig& config);

}  // namespace fuseplan::cpu
