// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/plan.hpp"

#include <algorithm>

#include "base/integer.hpp"

namespace fuseplan::cpu {

Phases phases_of(const ConvGeometry& conv, std::size_t axis) {
  const std::int64_t stride = conv.stride[axis];
  return {
      .count = stride, .taps = ceil_div(conv.filter[axis], stride), .padding = conv.pad_lo[axis]};
}

StemSegment StemPlan::segment(std::int64_t unit) const {
  Digits digits(unit);
  StemSegment segment;
  segment.column = digits.take(segments) * segment_tiles;
  segment.row = digits.take(tile_rows);
  segment.image = digits.rest();
  segment.tiles = std::min(segment_tiles, tile_columns - segment.column);
  return segment;
}

// Turning reads and writes whole squares.
std::int64_t StemPlan::staged_columns() const {
  return round_up(segment_tiles * columns->outputs + columns->taps - 1, lanes());
}

std::vector<StemTileSpec> StemPlan::specs() const {
  const StemTileSpec spec{.isa = isa,
                          .rows = rows,
                          .columns = columns,
                          .tiles = config.tiles,
                          .channels = channels,
                          .width = width(),
                          .output_row = output_row(),
                          .output_column = strip()};
  std::vector<StemTileSpec> all;
  const auto need = [&](std::int64_t tiles) {
    if (tiles == 0 || std::ranges::find(all, tiles, &StemTileSpec::tiles) != all.end()) return;
    all.push_back(spec);
    all.back().tiles = static_cast<int>(tiles);
  };
  const std::int64_t last = tile_columns - (segments - 1) * segment_tiles;
  for (const std::int64_t length : {segment_tiles, last}) {
    if (length >= config.tiles) need(config.tiles);
    need(length % config.tiles);
  }
  return all;
}

StemPlan stem_plan(const DirectShape& shape, Isa isa, const StemConfig& config) {
  StemPlan plan;
  plan.isa = isa;
  plan.config = config;
  plan.shape = shape;
  const ConvGeometry& conv = shape.conv;
  plan.row_phases = phases_of(conv, 1);
  plan.column_phases = phases_of(conv, 2);
  plan.rows = find_axis(plan.row_phases.taps, 1, config.rows);
  plan.columns = find_axis(plan.column_phases.taps, 1, config.columns);
  plan.channels = conv.group_inputs * plan.row_phases.count * plan.column_phases.count;
  plan.tile_rows = ceil_div(conv.output.len[3], config.rows);
  plan.tile_columns = ceil_div(conv.output.len[4], config.columns);
  // Transformed tiles stay in the second-level cache, outputs of a vector in the first.
  constexpr std::int64_t kMostTiles = 16;
  plan.segments = ceil_div(plan.tile_columns, kMostTiles);
  const std::int64_t even = ceil_div(plan.tile_columns, plan.segments);
  plan.segment_tiles = std::min(round_up(even, config.tiles), plan.tile_columns);
  plan.segments = ceil_div(plan.tile_columns, plan.segment_tiles);
  plan.vectors = ceil_div(plan.outputs(), plan.lanes());
  constexpr std::int64_t kStrip = 2;
  plan.strip_vectors = std::min(kStrip, plan.vectors);
  return plan;
}

}  // namespace fuseplan::cpu
