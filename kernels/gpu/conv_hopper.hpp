// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "expr/chain.hpp"
#include "kernels/gpu/recipe.hpp"

namespace fuseplan::gpu {

/// Output pixels x channels that a block computes at once.
struct HopperTile {
  int m, n;
};

/// How input pixels come: by the copy engine, which wants their channels together, or by threads,
/// from wherever they lie.
enum class HopperFeed { copies, threads };

/// Tiles that fit in shared memory, best first by a model of the waves in which they run.
std::vector<HopperTile> hopper_tiles(const Problem& problem, const SplitChain& chain,
                                     HopperFeed feed);
std::string to_text(const HopperTile& tile);  ///< "128x256"
std::optional<HopperTile> parse_hopper_tile(std::string_view text);

/// Whether the smallest tiles are as many as half of the multiprocessors of an H100 or H200.
bool hopper_fills_device(const Problem& problem);

/// What the copy engine cannot take of this convolution, as a sentence; nothing if it can.
std::optional<std::string> hopper_layout_refusal(const Problem& problem);
std::optional<std::string> hopper_filter_refusal(const Problem& problem);
/// The same for pixels that are gathered.
std::optional<std::string> hopper_gather_refusal(const Problem& problem);

/// Channels of a group that tiles may pack with others: as many inputs as outputs, a power of two.
inline constexpr std::int64_t kFewestPacked = 2, kMostPacked = 64;

/// Two spatial axes or fewer, one group or, by copies, packed ones, f16 or bf16, or f32 as tf32 by
/// copies; sums in f32. Needs sm_90a and what the refusals for that way to feed it say.
std::shared_ptr<const Recipe> conv_hopper_recipe(const Problem& problem, const SplitChain& chain,
                                                 HopperFeed feed, const HopperTile& tile);

}  // namespace fuseplan::gpu
