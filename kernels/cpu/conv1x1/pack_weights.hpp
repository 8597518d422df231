// SPDX-License-Identifier: MIT
#pragma once

#include "base/parallel.hpp"
#include "kernels/cpu/conv1x1/plan.hpp"

namespace fuseplan::cpu {

/// Packed weights, f32, read linearly by the kernels: [piece of channels][input channel][output
/// channel]. Pieces of whole vectors have zeros behind the last output channel.
std::size_t packed_weight_bytes(const Conv1x1Plan& plan);
void pack_weights(const Conv1x1Plan& plan, const void* raw, float* packed,
                  const Parallel& parallel);

/// Plans with equal formats read equal packed weights.
std::string packed_weight_format(const Conv1x1Plan& plan);

}  // namespace fuseplan::cpu
