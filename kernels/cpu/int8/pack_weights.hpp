// SPDX-License-Identifier: MIT
#pragma once

#include "base/parallel.hpp"
#include "kernels/cpu/int8/plan.hpp"

namespace fuseplan::cpu {

/// Packed weights, read strictly linearly by the tile kernels:
///   [group][tile of channels]
///     {start, i32 [output channel]}
///     {[plane][row][run][lane][output channel][depth], 8 bits for quads, 16 for pairs}
/// A tile of channels is as wide as its vectors, with zeros behind the last output channel, and a
/// run has zeros behind its last input channel.
///
/// Quads multiply bytes without sign: signed input is read as x + 128, and every sum starts from
/// -128 times its channel's weights. All of it is exact, modulo 2^32 on the way.
std::size_t packed_byte_weights_size(const BytePlan& plan);
void pack_byte_weights(const BytePlan& plan, const std::int8_t* raw, std::byte* packed,
                       const Parallel& parallel);

/// Plans with equal formats read equal packed weights.
std::string packed_byte_weights_format(const BytePlan& plan);

}  // namespace fuseplan::cpu
