// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/grouped/config.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Convolutions whose groups are smaller than a vector, depthwise ones among them. Lanes are
// neighbouring output channels of one or more groups (channels last) or neighbouring columns
// (channels first); the chain is applied to the sums before they leave their registers.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> grouped_refusal(const Problem& problem, const SplitChain& chain,
                                           const Target& target);

/// Best first, for a problem that is not refused.
std::vector<GroupedConfig> grouped_configs(const Problem& problem, const SplitChain& chain,
                                           const Target& target,
                                           const CoreRates& rates = core_rates("generic"));
/// The first of them, found without sorting.
GroupedConfig first_grouped_config(const Problem& problem, const SplitChain& chain,
                                   const Target& target, const CoreRates& rates);

std::shared_ptr<const Recipe> grouped_recipe(const Problem& problem, const SplitChain& chain,
                                             const Target& target, const GroupedConfig& config);

}  // namespace fuseplan::cpu
