// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/conv1x1/config.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

// 1x1 convolution in f32 on AVX2 and AVX-512: a matrix product of weights and pixels, with vectors
// along whatever is contiguous in the output.
//   channels last   a vector holds output channels, pixels are broadcast
//   channels first  a vector holds pixels, weights are broadcast; nothing is transposed
// Both are the same kernel with vectors and scalars exchanged. Short chains are applied to a tile
// in registers, long ones to a strip of tiles in the first-level cache.

/// Why a problem's memory cannot be walked; nothing if it can. Its geometry is not refused.
std::optional<std::string> conv1x1_refusal(const Problem& problem, const SplitChain& chain,
                                           Isa isa);

/// The tuning space; the first is the default. The problem is one that is not refused.
std::vector<Conv1x1Config> conv1x1_configs(const Problem& problem, const SplitChain& chain, Isa isa,
                                           const CoreRates& rates = core_rates("generic"));

std::shared_ptr<const Recipe> conv1x1_recipe(const Problem& problem, const SplitChain& chain,
                                             Isa isa, const Conv1x1Config& config);

}  // namespace fuseplan::cpu
