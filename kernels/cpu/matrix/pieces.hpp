// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/matrix/moves.hpp"
#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

// A number as a sum of bf16, of 8 significant bits each, every difference being exact: of f16 the
// leading bits and the rest; of f32 the leading bits, the next, rounded, and the rest (of weights
// the leading ones are rounded, too, so that what the products leave out has no sign of its own).
//
// Infinities and NaN: in f32 they are in the last piece alone, which is multiplied with the other
// side's first only. In f16 they are in both pieces, and pieces of weights have one sign and are
// zero only where the weight is: none of the products of infinity makes a NaN of it.

constexpr std::int64_t kPieceChannels = 32;  ///< a row of a tile
constexpr std::int64_t kMostPieces = 3;

/// Writes [32 channels][piece] where a copy writes 32 channels. Needs AVX-512.
PixelCopy split_copy_for(Product product);

/// Two channels' pixels, `stride` elements apart.
struct ChannelPair {
  const void *even, *odd;  ///< there may be no odd one
  std::int64_t stride, pixels;
};
/// Writes [piece][pixel][2 channels], `piece_bytes` from one piece to the next, zeros for a channel
/// that does not exist. Needs AVX-512.
using LaneCopy = void (*)(const ChannelPair& from, std::byte* to, std::int64_t piece_bytes);
LaneCopy lane_copy_for(Product product);

/// Splits 16 x 32 values, [output channel][input channel] with `step` values between the former,
/// to one tile of weights per piece, [output channel][input channel] or [pair of input
/// channels][output channel][2]. Needs AVX-512.
void split_weights(Product product, const float* from, std::int64_t step, bool by_plane, void* to);

}  // namespace fuseplan::cpu
