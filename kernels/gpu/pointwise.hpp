// SPDX-License-Identifier: MIT
#pragma once

#include "expr/chain.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::gpu {

/// Plans without convolution: one pass over memory, any strides.
std::shared_ptr<const Recipe> pointwise_recipe(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan::gpu
