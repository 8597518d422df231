// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/integer.hpp"
#include "expr/chain.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/stem/config.hpp"
#include "kernels/cpu/stem/tile_kernel.hpp"
#include "kernels/cpu/winograd/axis.hpp"

namespace fuseplan::cpu {

/// An axis of a convolution with a stride s, as one without: padded input s * j + a is input j of
/// phase a, and output i is the sum over phases a and steps q < taps of
///   weight[s * q + a] * phase_a[i + q]
/// (zero where there is no such weight). Phases become channels.
struct Phases {
  std::int64_t count = 1;  ///< the stride
  std::int64_t taps = 1;
  std::int64_t padding = 0;

  /// Which weight of the axis it is; too large if there is none.
  std::int64_t tap(std::int64_t phase, std::int64_t step) const { return count * step + phase; }
  /// Where input j of a phase is; negative or too large if it is padding.
  std::int64_t input(std::int64_t phase, std::int64_t j) const {
    return count * j + phase - padding;
  }
};
Phases phases_of(const ConvGeometry& conv, std::size_t axis);

/// Neighbouring tiles of a row of tiles.
struct StemSegment {
  std::int64_t image = 0, row = 0, column = 0;  ///< in tiles
  std::int64_t tiles = 0;
};

/// Everything about one stem convolution that follows from problem and configuration.
struct StemPlan {
  static constexpr std::int64_t kMostStride = 48;  ///< of rows or columns

  Isa isa{};  ///< AVX2 or AVX-512
  StemConfig config;
  DirectShape shape;
  Phases row_phases, column_phases;
  const Axis *rows = nullptr, *columns = nullptr;  ///< of a tile
  std::int64_t channels = 0;                       ///< input channels x phases
  std::int64_t tile_rows = 0, tile_columns = 0;
  std::int64_t segment_tiles = 0;  ///< at most
  std::int64_t segments = 0;       ///< of a row of tiles
  std::int64_t vectors = 0;        ///< of output channels
  std::int64_t strip_vectors = 0;  ///< whose outputs are in scratch at once, at most

  std::int64_t lanes() const { return lanes_of(isa); }
  std::int64_t inputs() const { return shape.conv.group_inputs; }
  std::int64_t outputs() const { return shape.conv.group_outputs; }
  std::int64_t positions() const { return std::int64_t{rows->inputs()} * columns->inputs(); }
  /// Channels of a pixel in scratch: whole vectors.
  std::int64_t width() const { return round_up(channels, lanes()); }
  std::int64_t units() const { return shape.conv.output.len[0] * tile_rows * segments; }
  StemSegment segment(std::int64_t unit) const;

  // In floats. Staged input is [row][column][channel], transformed tiles are
  // [tile][position][channel], outputs [row][column][lane of a strip].
  std::int64_t staged_columns() const;
  std::int64_t tile_values() const { return positions() * width(); }
  std::int64_t vector_weights() const { return positions() * channels * lanes(); }
  std::int64_t strip() const { return strip_vectors * lanes(); }
  std::int64_t output_row() const { return segment_tiles * columns->outputs * strip(); }

  /// Kernels for config.tiles at once and, if need be, for what is left of a segment.
  std::vector<StemTileSpec> specs() const;
};

StemPlan stem_plan(const DirectShape& shape, Isa isa, const StemConfig& config);

}  // namespace fuseplan::cpu
