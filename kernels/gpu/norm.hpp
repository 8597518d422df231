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
};
std::string_view to_text(NormWay way);  ///< "default", "whole", "chunks"
std::optional<NormWay> parse_norm_way(std::string_view text);

/// Plans of norm_stages.hpp, any strides.
std::shared_ptr<const Recipe> norm_recipe(const Problem& problem, const SplitChain& chain,
                                          NormWay way);

}  // namespace fuseplan::gpu
