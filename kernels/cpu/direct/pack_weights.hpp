// SPDX-License-Identifier: MIT
#pragma once

#include "base/parallel.hpp"
#include "kernels/cpu/direct/plan.hpp"

namespace fuseplan::cpu {

/// Packed weights, f32, read strictly linearly by the tile kernels:
///   [group][tile of channels][chunk][plane][row][input channel][tap][output channel]
/// A tile of channels is as wide as its vectors, with zeros behind the last output channel.
std::size_t packed_weight_bytes(const DirectPlan& plan);
void pack_weights(const DirectPlan& plan, const void* raw, float* packed, const Parallel& parallel);

/// Plans with equal formats read equal packed weights.
std::string packed_weight_format(const DirectPlan& plan);

}  // namespace fuseplan::cpu
