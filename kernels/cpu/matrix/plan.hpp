// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "base/integer.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/emit/strip_finisher.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/matrix/config.hpp"
#include "kernels/cpu/matrix/reading.hpp"
#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

/// How a window's input lies in scratch: [image][plane tap][row phase][column
/// phase][row][column][step][piece][channel], or, by plane, [plane tap][row phase][column
/// phase][step][piece][lane of channels][row][column]. Entries that a stride of s takes in s turns
/// are s phases, each contiguous, so that neighbouring outputs always read neighbours. Lengths of
/// phases in rows and columns, steps in bytes. Columns at the end of a row may be those at the
/// beginning of the next (plan.pitch): both are zeros. Where taps overlap, a column is as many
/// pixels as the stride along the width takes, each of its channels alone.
struct MatrixStage {
  std::int64_t rows = 0, columns = 0;
  std::int64_t lane_bytes = 0;  ///< by plane
  std::int64_t column_bytes = 0, row_bytes = 0, phase_bytes = 0, plane_bytes = 0;
  std::int64_t image_bytes = 0;  ///< from one image of a window to the next
  std::int64_t bytes = 0;
  std::int64_t phase(const ConvGeometry& conv, std::int64_t row, std::int64_t column) const;
};

/// Rows of one tile of pixels. Positions count a window's pixels along its rows and, where tiles
/// run on, through what lies between two rows.
struct PixelTile {
  std::int64_t position = 0;  ///< of its first row
  int skip = 0, count = 0;    ///< rows that are its own: the others are dropped
};

/// Everything about one convolution in matrix tiles that follows from problem and configuration.
struct MatrixPlan {
  Product product{};
  MatrixConfig config;
  TileGrid grid;  ///< of the kernels
  /// In `joined` plans the taps along the width are channels, and the filter is one wide; so are
  /// the taps of joined_rows rows, where a stride takes as many at a time and they fit one step.
  DirectShape shape;
  ConvGeometry source;  ///< before joining: what is staged and packed
  std::int64_t joined_rows = 1;
  /// Joined taps are read where they lie in a staged row, whose pixels follow one another without
  /// gaps: what two rows of a tile read overlaps.
  bool overlaps_taps = false;
  std::int64_t merged = 1;  ///< groups of the problem that a group of the shape stands for
  Far far = Far::nothing;
  bool next_input = false;         ///< as in MatrixTileSpec
  int next_lines = 0;              ///< as in MatrixTileSpec
  std::int64_t fetched_bytes = 0;  ///< of the next weights, by one call
  std::int64_t fetches_ahead = 0;  ///< bytes from the weights it reads, or 0: the next tile's
  FinishSpec finish;
  bool asks_elements = false;  ///< kernels do, for the chain
  bool in_strips = false;      ///< strip finishers apply the chain; otherwise rows do
  bool overlaps = false;  ///< whole strips are left in the tiles and finished by the next kernel
  int grain = 0;          ///< by so many pixels: a grain lies in a row or between two

  std::int64_t steps = 0;  ///< in which a tap's channels are multiplied, one after another
  int depth = 0;           ///< channels of a step; those behind the last are zero
  /// Channels in place that the last step has as well as the one before: with weights of zero, so
  /// that nothing behind a pixel is read.
  std::int64_t repeated = 0;
  /// A step's first channel.
  std::int64_t first_channel(std::int64_t step) const {
    return step * depth - (step + 1 == steps ? repeated : 0);
  }
  std::int64_t step_bytes = 0, piece_bytes = 0;  ///< from one step's input, and piece, to the next
  MatrixStage stage;
  std::int64_t pixel_bytes = 0;        ///< from one pixel's input to the next
  std::int64_t tile_row_bytes = 0;     ///< from one row of an input tile to the next
  std::int64_t strip_positions = 0;    ///< by plane: whose sums are finished together
  std::vector<std::int64_t> reads;     ///< bytes from a pixel to what each step of each tap reads
  std::int64_t tiles_of_channels = 0;  ///< the grid's vectors, fewer in the last
  int tail_vectors = 0;

  std::int64_t block_rows = 0, block_columns = 0;  ///< output pixels of a window, at most
  std::int64_t block_images = 1;                   ///< more than one: of whole, small images
  /// The output's rows follow one another, and tiles do not start with them. They run on where
  /// positions do as well, or windows have a single row: a tile's pixels are one run.
  bool even_rows = false, runs_on = false;
  std::int64_t pitch = 0;  ///< positions from one row to the next

  int element() const { return traits_of(product).element; }
  /// Bytes, in memory.
  std::int64_t source_element() const {
    return static_cast<std::int64_t>(size_of(traits_of(product).input));
  }
  /// Channels that a filter row has, its taps joined.
  std::int64_t row_channels() const { return shape.conv.group_inputs / joined_rows; }
  int vectors_of(std::int64_t channel_tile) const {
    return channel_tile + 1 == tiles_of_channels ? tail_vectors : grid.channels;
  }
  /// Kernels: of least_tiles() to the grid's tiles, for full tiles of channels and then for the
  /// last.
  std::vector<MatrixTileSpec> specs() const;
  std::size_t kernel_of(int tiles, std::int64_t channel_tile) const;
  /// Tall kernels come in one size: what they sum beyond the last tile is scratch as well.
  int least_tiles() const { return grid == kTallGrid ? grid.pixels : 1; }
  /// Whether a kernel that is called for so many tiles sums as many as there are registers for.
  bool is_full(int tiles, std::int64_t channel_tile) const {
    return std::max(tiles, least_tiles()) == grid.pixels &&
           vectors_of(channel_tile) == grid.channels;
  }
  /// Strip finishers: for full tiles of channels, then, if it differs, for the last.
  std::vector<StripSpec> strips() const;
  std::size_t strip_of(std::int64_t channel_tile) const {
    return channel_tile + 1 == tiles_of_channels && tiles_of_channels > 1 && has_short_tail();
  }
  bool has_short_tail() const { return shape.conv.group_outputs % grid.lanes() != 0; }
  /// Bytes of packed weights of a vector of channels.
  std::int64_t vector_bytes() const;
  std::int64_t group_vectors() const {
    return (tiles_of_channels - 1) * grid.channels + tail_vectors;
  }

  /// Calls of kernels for so many pixels of an image and one tile of channels.
  std::int64_t image_calls(std::int64_t rows, std::int64_t columns) const {
    return ceil_div(tiles(rows, columns), grid.pixels);
  }
  /// The same for a window of full size.
  std::int64_t window_calls() const {
    return block_images * image_calls(block_rows, block_columns);
  }
  /// Whole planes of a tile of channels are finished together, and are one region of memory.
  bool finishes_planes() const;
  /// By plane, from one channel's sums to the next.
  std::int64_t sums_bytes() const { return strip_positions * kLaneBytes + kTileBytes; }
  /// Positions and tiles of a window of so many rows and columns.
  std::int64_t positions(std::int64_t rows, std::int64_t columns) const {
    return (rows - 1) * pitch + columns;
  }
  std::int64_t tiles(std::int64_t rows, std::int64_t columns) const;
  /// The window's first column says how far a tile may reach back.
  PixelTile tile(std::int64_t index, std::int64_t rows, std::int64_t columns,
                 std::int64_t column) const;
};

/// `merged`: groups of the problem in each of the shape's.
MatrixPlan matrix_plan(const DirectShape& shape, const SplitChain& chain, Product product,
                       const MatrixConfig& config, std::int64_t merged = 1);

}  // namespace fuseplan::cpu
