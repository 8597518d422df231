// SPDX-License-Identifier: MIT
#pragma once

#include "base/parallel.hpp"
#include "kernels/cpu/direct/plan.hpp"

namespace fuseplan::cpu {

/// Packed weights, 32-bit elements read strictly linearly by the tile kernels:
///   [group][tile of channels][chunk][plane][row][input channel][tap][output channel]
/// A tile of channels is as wide as its vectors, with zeros behind the last output channel. An
/// element is an f32 weight; or the bf16 weights of a pair of input channels, the first in the
/// lower half, with zero for an odd one's partner.
std::size_t packed_weight_bytes(const DirectPlan& plan);
void pack_weights(const DirectPlan& plan, const void* raw, void* packed, const Parallel& parallel);

/// Whether weights that are others at every call are better packed a tile of channels at a time,
/// just before the only use of it: the packed tile stays in the second-level cache.
bool packs_in_passing(const DirectPlan& plan);
/// One tile of channels, as it lies in the packed weights. For those plans.
void pack_channel_tile(const DirectPlan& plan, const void* raw, std::int64_t tile, float* packed);

/// The vector, counted in a tile's first column of them, of {step through the channels, plane, row,
/// tap}.
std::int64_t packed_index(const DirectPlan& plan, const std::array<std::int64_t, 4>& at);

/// Plans with equal formats read equal packed weights.
std::string packed_weight_format(const DirectPlan& plan);

}  // namespace fuseplan::cpu
