// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/cpu/direct/config.hpp"
#include "kernels/cpu/direct/tiling.hpp"

namespace fuseplan::cpu {

/// How a block's input lies in scratch when it is copied there: [plane][row][column][channel] if
/// channels are contiguous in the tensor, [plane][row][channel][column] otherwise. Lengths and
/// strides in elements: f32; or, in pairs, single bf16 values if channels come last, else pairs of
/// them, an odd one's partner being zero.
struct StagedBlock {
  bool channels_last = false;
  std::int64_t planes = 0, rows = 0, columns = 0;
  std::int64_t plane_stride = 0, row_stride = 0, column_stride = 0, channel_stride = 0;
  std::int64_t element_bytes = 0;
  std::int64_t bytes() const { return planes * plane_stride * element_bytes; }
};

/// Steps through the kernels' input, in bytes, along depth, height, width: from one output to the
/// next and from one tap to the next.
struct InputSteps {
  std::array<std::int64_t, 3> output{}, tap{};
  std::int64_t channel = 0;
};

/// What tile kernels ask the second-level cache for: the next block's input, as far as it lies
/// behind this one's; or the weights of the next chunk, or tile of channels.
enum class Asked { nothing, input, weights };

/// Everything about one direct convolution that follows from problem, instruction set and
/// configuration: what to emit and how to walk it.
struct DirectPlan {
  Isa isa{};
  DirectConfig config;
  /// In `joined` plans each tap along the width counts as so many channels of its own, and the
  /// filter is one wide: three channels and seven taps are 21 channels, which waste less on pairs.
  DirectShape shape;
  bool joined = false;
  ConvGeometry source;  ///< before joining: what is staged and packed

  std::int64_t depth = 0;  ///< steps through a group's channels: channels, or pairs of them
  bool odd = false;        ///< the last pair is a single channel in what the kernels read

  std::int64_t tile_lanes = 0;  ///< output channels of a tile: vectors * lanes
  std::int64_t tiles_of_channels = 0;
  int tail_vectors = 0;  ///< of the last tile of channels; equals config.vectors if it is full
  std::int64_t chunk = 0, chunks = 0;  ///< of steps

  bool staged = false;
  StagedBlock stage;
  InputSteps steps;
  std::int64_t block_rows = 0;     ///< output rows of one plane in a block
  std::size_t block_strips = 0;    ///< strips of each of them
  std::int64_t block_columns = 0;  ///< widest sum of them
  Tiling tiling;
  RowsSpec rows;              ///< how the chain is applied to sums in memory
  FinishSpec finish;          ///< and to those in registers
  bool in_registers = false;  ///< by the tile kernels themselves
  Asked asks_for = Asked::nothing;

  int lanes() const { return lanes_of(isa); }
  /// Kernels: the tiling's variants with full vectors, then, if they differ, with the tail's.
  std::vector<TileSpec> specs() const;
  int kernel_of(int variant, std::int64_t channel_tile) const;
  int vectors_of(std::int64_t channel_tile) const;
  /// 32-bit elements of the packed weights in front of a tile of channels, within a group; one past
  /// the last gives the group's size.
  std::int64_t weight_offset(std::int64_t channel_tile) const;
};

DirectPlan direct_plan(const DirectShape& shape, const SplitChain& chain, const Target& target,
                       const DirectConfig& config);

}  // namespace fuseplan::cpu
