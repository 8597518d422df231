// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "expr/chain.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::gpu {

/// Output pixels x channels of a block, and of a thread.
struct ConvTile {
  int m, n, thread_m, thread_n;
  double efficiency;  ///< expected share of the f32 peak in the main loop, relative to the best
};

/// Tiles, best first for this problem: those whose blocks fill a large device without waste.
std::vector<ConvTile> conv_tiles(const Problem& problem);
std::string to_text(const ConvTile& tile);  ///< "128x128"
std::optional<ConvTile> parse_conv_tile(std::string_view text);

/// Blocks of a launch.
double conv_blocks(const Problem& problem, const ConvTile& tile);

/// Two spatial axes or fewer, any strides, groups, dilation and padding; sums in f32.
std::shared_ptr<const Recipe> conv_recipe(const Problem& problem, const SplitChain& chain,
                                          const ConvTile& tile);

}  // namespace fuseplan::gpu
