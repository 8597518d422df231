// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/pointwise/config.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Plans without convolution: one pass over memory, at memory speed.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> pointwise_refusal(const Problem& problem, const SplitChain& chain,
                                             Isa isa);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<PointwiseConfig> pointwise_configs(const Problem& problem, const SplitChain& chain,
                                               const CoreRates& rates = core_rates("generic"));

std::shared_ptr<const Recipe> pointwise_recipe(const Problem& problem, const SplitChain& chain,
                                               Isa isa, const PointwiseConfig& config);

}  // namespace fuseplan::cpu
