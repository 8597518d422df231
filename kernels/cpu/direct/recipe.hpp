// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/direct/config.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// Direct convolution with output channels in vectors: a tile of pixels x channels is summed in
// registers, pixels broadcast from where they lie, weights packed into one linear stream. The chain
// is applied to a strip of tiles while it is in the first-level cache.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> direct_refusal(const Problem& problem, const SplitChain& chain, Isa isa);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<DirectConfig> direct_configs(const Problem& problem, Isa isa);

std::shared_ptr<const Recipe> direct_recipe(const Problem& problem, const SplitChain& chain,
                                            Isa isa, const DirectConfig& config);

}  // namespace fuseplan::cpu
