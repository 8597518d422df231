// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "expr/chain.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::gpu {

/// How the batch's sums come before the second pass.
enum class NormWay {
  automatic,  ///< what a model expects to be faster
  whole,      ///< one launch, in which a block owns all members of its groups
  chunks,     ///< three, in which many blocks share them; whole where the output cannot hold parts
  cluster,    ///< one launch, in which the blocks of a cluster share them
};
std::string_view to_text(NormWay way);  ///< "default", "whole", "chunks", "cluster"
std::optional<NormWay> parse_norm_way(std::string_view text);

/// Plans of norm_stages.hpp, any strides. `clusters`: the device has them (sm_90).
std::shared_ptr<const Recipe> norm_recipe(const Problem& problem, const SplitChain& chain,
                                          NormWay way, bool clusters);

}  // namespace fuseplan::gpu
