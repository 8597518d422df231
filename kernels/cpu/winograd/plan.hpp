// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/integer.hpp"
#include "base/parallel.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/direct/tile_emitter.hpp"
#include "kernels/cpu/winograd/axis.hpp"
#include "kernels/cpu/winograd/config.hpp"

namespace fuseplan::cpu {

/// Columns of outputs that are transformed back together: they stay in the first-level cache.
inline constexpr std::int64_t kSegmentColumns = 64;

/// How tiles lie along an axis of the output. Under dilation d a tile's outputs are d apart, as its
/// taps are, and d tiles beside each other fill what lies between: together they are a run of
/// neighbouring outputs.
struct TileSpread {
  std::int64_t outputs = 1, dilation = 1;

  std::int64_t run() const { return outputs * dilation; }
  /// A tile's first output.
  std::int64_t first(std::int64_t tile) const { return tile / dilation * run() + tile % dilation; }
  /// Its outputs that exist on an axis of this length.
  std::int64_t count(std::int64_t tile, std::int64_t length) const {
    const std::int64_t left = std::max<std::int64_t>(0, length - first(tile));
    return std::min(outputs, ceil_div(left, dilation));
  }
};

/// Neighbouring tiles of one row of tiles of one image.
struct Segment {
  std::int64_t image = 0, row = 0, column = 0;  ///< in tiles
  std::int64_t tiles = 0;
};

/// Everything about one Winograd convolution that follows from problem and configuration. Tiles are
/// numbered through image, row and column; a piece is what one call of a product kernel takes.
struct WinogradPlan {
  Isa isa{};
  WinogradConfig config;
  DirectShape shape;
  const Axis *rows = nullptr, *columns = nullptr;  ///< of a tile
  TileSpread row_spread, column_spread;
  std::int64_t tile_rows = 0, tile_columns = 0, tiles = 0;
  std::int64_t pieces = 0;
  std::int64_t block_pieces = 0;  ///< of a block, at most
  std::int64_t most_pieces = 0;   ///< the same while weights are raw

  std::int64_t channel_tiles = 0;  ///< of up to config.vectors vectors of output channels
  int tail_vectors = 0;            ///< of the last of them
  bool asks_ahead = false;         ///< for the weights of the next position

  std::int64_t lanes() const { return lanes_of(isa); }
  std::int64_t inputs() const { return shape.conv.group_inputs; }
  std::int64_t outputs() const { return shape.conv.group_outputs; }
  std::int64_t positions() const { return std::int64_t{rows->inputs()} * columns->inputs(); }
  bool input_channels_last() const { return shape.conv.input.stride[1] == 1; }

  /// Weights can be raw: all tiles are one block then, and each transformed weight is used once.
  bool takes_raw_weights() const { return pieces <= most_pieces; }

  Range piece(std::int64_t index) const;  ///< its tiles: whole runs, as many but for one
  int largest_piece() const;
  int piece_sizes() const;  ///< 1 if all are of the largest, or 2: others have one run less
  /// Whole runs, so that a segment is neighbouring outputs.
  std::int64_t segment_tiles() const {
    return kSegmentColumns / column_spread.run() * column_spread.dilation;
  }
  Segment segment(std::int64_t first, std::int64_t last) const;  ///< longest at the front

  /// Output channels of a whole tile of them, and of one.
  std::int64_t width() const { return config.vectors * lanes(); }
  int vectors_of(std::int64_t channel_tile) const;
  std::int64_t width_of(std::int64_t channel_tile) const {
    return vectors_of(channel_tile) * lanes();
  }
  /// Product kernels, and the one for `tiles` tiles.
  std::vector<TileSpec> specs() const;
  std::size_t kernel_of(std::int64_t tiles, std::int64_t channel_tile) const;

  // Floats from one tile's transformed channels to the next one's, and from one position to the
  // next in a block's transformed input and in its products.
  std::int64_t tile_stride() const;
  std::int64_t values_stride() const;
  std::int64_t sums_stride() const;
  /// The same of the weights of a tile of channels.
  std::int64_t weights_stride(std::int64_t channel_tile) const;

 private:
  std::int64_t runs() const { return tiles / column_spread.dilation; }
  TileSpec product_spec(int pixels, int vectors) const;
};

/// Of a tile, and of its filter (5x7): Execute keeps as many without allocating.
constexpr std::size_t kMostPositions = 121, kMostTaps = 35;

/// The axes of a tile that are in question for the convolution: all but those whose errors would
/// multiply to more than the bound in the README.
struct TileAxes {
  const Axis *rows, *columns;
};
std::vector<TileAxes> winograd_axes(const ConvGeometry& conv);

/// Along rows: so many tiles are multiplied at a time, and they are whole runs.
std::int64_t most_winograd_dilation(Isa isa);

WinogradPlan winograd_plan(const DirectShape& shape, Isa isa, const WinogradConfig& config);

}  // namespace fuseplan::cpu
