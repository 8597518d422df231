// SPDX-License-Identifier: MIT
#pragma once

#include "expr/chain.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::gpu {

/// Outputs below each other that a thread computes.
inline constexpr std::int64_t kStripRows = 4;
/// Filter rows that a thread's registers hold.
inline constexpr std::int64_t kMostFilterRows = 11;

std::int64_t filter_rows(const Problem& problem);

/// Convolution with groups of few channels, any strides, up to three spatial axes, any chain. A
/// block gets so many bytes of shared memory.
std::shared_ptr<const Recipe> depthwise_recipe(const Problem& problem, const SplitChain& chain,
                                               std::int64_t shared_bytes);

}  // namespace fuseplan::gpu
