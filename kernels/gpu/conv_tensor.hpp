// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "expr/chain.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::gpu {

/// How a block shares its output pixels x channels among warps, and its ring in shared memory.
struct TensorTile {
  int m, n;
  int warps_m, warps_n, warps_k;  ///< warps_k of them add up parts of the depth
  int chunks;                     ///< of 16 bytes, a step along the depth
  int stages;
  double efficiency;  ///< expected share of the tensor cores' peak in the main loop, relative
  int split = 1;      ///< blocks of a cluster that share the depth
};

/// Tiles that a device of this compute capability (80 for sm_80) has the shared memory for, best
/// first by a model of time. From 90 on also split ones, where the tile alone leaves it idle.
std::vector<TensorTile> tensor_tiles(const Problem& problem, int capability);
std::string to_text(
    const TensorTile& tile);  ///< "128x128w2x4x1c4s3", "64x64w2x2x1c4s4k8" in 8 blocks
std::optional<TensorTile> parse_tensor_tile(std::string_view text);

/// Blocks of a launch.
double tensor_blocks(const Problem& problem, const TensorTile& tile);

/// Two spatial axes or fewer, input and filters of one type, any strides and padding; f32 is
/// rounded to tf32. Sums in f32.
std::shared_ptr<const Recipe> tensor_recipe(const Problem& problem, const SplitChain& chain,
                                            const TensorTile& tile);

}  // namespace fuseplan::gpu
