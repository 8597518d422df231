// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/direct/tile_emitter.hpp"
#include "kernels/cpu/winograd/config.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {

inline constexpr int kPieceTiles = 14;    ///< rows of a register tile of the products
inline constexpr int kPieceVectors = 2;   ///< vectors of output channels of it
inline constexpr int kSegmentTiles = 16;  ///< whose outputs stay in the first-level cache

/// Neighbouring tiles of one row of tiles of one image.
struct Segment {
  std::int64_t image = 0, row = 0, column = 0;  ///< in tiles
  std::int64_t tiles = 0;
};

/// Everything about one Winograd convolution that follows from problem and configuration. Tiles are
/// numbered through image, row and column; a piece is what one call of a product kernel takes.
struct WinogradPlan {
  WinogradConfig config;
  DirectShape shape;
  std::int64_t tile_rows = 0, tile_columns = 0, tiles = 0;
  std::int64_t pieces = 0;
  std::int64_t block_pieces = 0;  ///< of a block, at most

  std::int64_t channel_tiles = 0;  ///< of up to kPieceVectors vectors of output channels
  int tail_vectors = 0;            ///< of the last of them

  std::int64_t inputs() const { return shape.conv.group_inputs; }
  std::int64_t outputs() const { return shape.conv.group_outputs; }
  bool input_channels_last() const { return shape.conv.input.stride[1] == 1; }
  Range piece(std::int64_t index) const;  ///< its tiles; sizes differ by one at most
  int largest_piece() const;
  Segment segment(std::int64_t first, std::int64_t last) const;  ///< longest at the front

  int vectors_of(std::int64_t channel_tile) const;
  std::int64_t width_of(std::int64_t channel_tile) const {
    return vectors_of(channel_tile) * kTileLanes;
  }
  /// Product kernels, and the one for `tiles` tiles.
  std::vector<TileSpec> specs() const;
  std::size_t kernel_of(std::int64_t tiles, std::int64_t channel_tile) const;

  /// Floats from one tile's transformed channels to the next one's.
  std::int64_t tile_stride() const;
};

WinogradPlan winograd_plan(const DirectShape& shape, const WinogradConfig& config);

/// Floats from one position to the next in an array of `floats` per position. The 36 positions of a
/// tile are read and written together: multiples of 4 KB would meet in one set of the cache.
std::int64_t position_stride(std::int64_t floats);

}  // namespace fuseplan::cpu
