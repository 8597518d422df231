// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/int8/config.hpp"
#include "kernels/cpu/int8/tile_spec.hpp"

namespace fuseplan::cpu {

/// Neighbouring output pixels of a row that one kernel call computes.
struct ByteRowTile {
  std::int64_t column = 0;
  int pixels = 0;
};

/// Which kernel computes a band, for bands that are one tile: those in the middle are alike.
struct BandVariants {
  std::int64_t count = 0;  ///< 0: tiles are no whole bands
  std::vector<std::size_t> first;
  std::size_t middle = 0;
  std::vector<std::size_t> last;  ///< from the last band upwards

  std::size_t of(std::int64_t band) const {
    if (band < std::ssize(first)) return first[static_cast<std::size_t>(band)];
    const std::int64_t behind = count - 1 - band;
    return behind < std::ssize(last) ? last[static_cast<std::size_t>(behind)] : middle;
  }
};

/// How a block's input lies in scratch: [plane][row][column][channel], every position that a tap
/// can reach, padding filled in. In elements of `dot.element` bytes.
struct ByteStage {
  std::int64_t planes = 0, rows = 0, columns = 0;
  std::int64_t column_step = 0, row_step = 0, plane_step = 0;
  std::int64_t elements() const { return planes * plane_step; }
};

/// Everything about one 8-bit convolution that follows from problem, instruction set and
/// configuration: what to emit and how to walk it.
struct BytePlan {
  Isa isa{};
  Dot dot;
  ByteConfig config;
  DirectShape shape;

  bool staged = false;  ///< otherwise the kernels read the plan's input where it lies
  FinishSpec finish;
  bool finished = false;  ///< the tile kernels apply the chain and store; otherwise rows do
  ByteStage stage;
  ByteReduction reduction;

  std::int64_t tile_lanes = 0;  ///< output channels of a tile
  std::int64_t tiles_of_channels = 0;
  int tail_vectors = 0;  ///< of the last tile of channels
  int tail_lanes = 0;    ///< of the last vector of the last tile of channels

  /// Output rows are cut into bands of `tile_rows`, more than one where rows are so short that a
  /// tile holds several; then a band is one tile.
  int tile_rows = 1;
  std::vector<ByteRowTile> row_tiles;
  std::int64_t block_bands = 0;                    ///< of one plane in a block
  std::size_t block_tiles = 0;                     ///< of row_tiles in a block
  std::int64_t block_rows = 0, block_columns = 0;  ///< the same in pixels, at most
  std::vector<ByteTileSpec> variants;              ///< with full vectors
  BandVariants bands;                              ///< if a tile is all of a band

  int lanes() const { return lanes_of(isa); }
  bool is_signed() const { return shape.input == DType::i8; }
  /// Kernels: the variants with full vectors, then with those of the last tile of channels.
  std::vector<ByteTileSpec> specs() const;
  /// Of the tile of so many pixels in the band that begins at this row.
  std::size_t kernel_of(std::int64_t row, std::int64_t pixels, std::int64_t channel_tile) const;
  int vectors_of(std::int64_t channel_tile) const;
  /// Bytes of packed weights in front of a tile of channels, within a group; one past the last
  /// gives the group's size.
  std::int64_t weight_offset(std::int64_t channel_tile) const;
  bool is_full_tail() const;
};

BytePlan byte_plan(const DirectShape& shape, const SplitChain& chain, Isa isa, DotKind dot,
                   const ByteConfig& config);

}  // namespace fuseplan::cpu
