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
// registers, pixels broadcast from where they lie, weights packed into one linear stream. A short
// chain is applied to the tile in its registers, others to a strip of tiles while it is in the
// first-level cache. f16 and bf16 are widened to f32 once per block; where the CPU multiplies pairs
// of bf16 faster, they are summed as they are: products of bf16 are exact in f32, and a pair is
// added with at most one more rounding, so the bound is that of an f32 sum of as many products.

/// Why these kernels cannot run the problem; nothing if they can.
std::optional<std::string> direct_refusal(const Problem& problem, const SplitChain& chain,
                                          const Target& target);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<DirectConfig> direct_configs(const Problem& problem, const Target& target,
                                         const CoreRates& rates = core_rates("generic"));
/// The first of it, and whether `config` is in it: sooner than all of it is made.
DirectConfig first_direct_config(const Problem& problem, const Target& target,
                                 const CoreRates& rates = core_rates("generic"));
bool has_direct_config(const Problem& problem, const Target& target, const DirectConfig& config,
                       const CoreRates& rates = core_rates("generic"));

std::shared_ptr<const Recipe> direct_recipe(const Problem& problem, const SplitChain& chain,
                                            const Target& target, const DirectConfig& config);

}  // namespace fuseplan::cpu
