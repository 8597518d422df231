// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {

/// Transformed weights, f32, read strictly linearly:
///   [tile of output channels][position][input channel][output channel]
/// A tile of channels is as wide as its vectors, with zeros behind the last output channel.
std::size_t winograd_weight_bytes(const WinogradPlan& plan);

/// Floats in front of a position of a tile of channels.
std::int64_t winograd_weight_offset(const WinogradPlan& plan, std::int64_t channel_tile,
                                    std::int64_t position);

using FilterKernel = void (*)(const FilterCall*);

void transform_weights(const WinogradPlan& plan, FilterKernel kernel, const void* raw,
                       float* transformed, const Parallel& parallel);

}  // namespace fuseplan::cpu
