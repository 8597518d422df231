// SPDX-License-Identifier: MIT
#pragma once

#include "base/parallel.hpp"
#include "kernels/cpu/conv1x1/plan.hpp"

namespace fuseplan::cpu {

/// Packed weights, f32 from any real type, read linearly by the kernels: [group][piece of
/// channels][input channel][output channel]. Pieces of whole vectors have zeros behind the last
/// output channel.
std::size_t packed_weight_bytes(const Conv1x1Plan& plan);
void pack_weights(const Conv1x1Plan& plan, const void* raw, float* packed,
                  const Parallel& parallel);

/// Whether the pieces of channels can as well be packed one by one, each just before all pixels are
/// computed of it, because weights rather than pixels are what a cache cannot keep.
bool packs_in_passing(const Conv1x1Plan& plan);
/// One piece of the first group's channels, to where `packed` points. `asked_for`: its raw weights
/// are in reach.
void pack_piece(const Conv1x1Plan& plan, const void* raw, std::int64_t piece, float* packed,
                bool asked_for);
/// Where a piece's raw weights begin.
const std::byte* raw_piece(const Conv1x1Plan& plan, const void* raw, std::int64_t piece);

/// Plans with equal formats read equal packed weights.
std::string packed_weight_format(const Conv1x1Plan& plan);

}  // namespace fuseplan::cpu
