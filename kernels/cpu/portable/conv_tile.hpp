// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace fuseplan::cpu {

/// Output channels of one block: two 128-bit vectors, which every baseline has.
inline constexpr int kTileChannels = 8;
/// Most pixels of one tile: 6 x 2 accumulators, 2 weights and a product fit 16 registers.
inline constexpr int kTilePixels = 6;

/// One row of filter taps that falls inside the image.
struct TapRow {
  const float* x;  ///< input row
  const float* w;  ///< packed weights of the row's first tap
};

/// What is the same for all tiles of a row of output pixels. Steps in floats.
struct TileShape {
  const TapRow* rows;
  int row_count;
  std::int64_t channels;  ///< summed over; 1 where every output channel has its own input channel
  std::int64_t x_channel, x_pixel, x_tap, w_tap;
};

/// Sums taps [first_tap, end_tap) of every row for `P` neighbouring pixels into
/// sums[p * kTileChannels + k]; `x` is the offset of tap 0 of the first pixel in its row, which
/// may lie outside the row if the first taps are left out.
using Tile = void (*)(const TileShape& shape, std::int64_t x, int first_tap, int end_tap,
                      float* sums);

/// Tiles of 1 ... kTilePixels pixels, by pixels - 1. `dense` multiplies one input value by the
/// weights of all channels of the block; `depthwise` reads kTileChannels neighbouring input values.
/// The order of summation is the same for all of them: rows, taps, channels.
extern const Tile kDenseTiles[kTilePixels];
extern const Tile kDepthwiseTiles[kTilePixels];

}  // namespace fuseplan::cpu
