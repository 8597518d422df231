// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/plan.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/direct/ahead.hpp"
#include "kernels/cpu/winograd/weights.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float), kLine = 16;
constexpr int kMostPoints = 48;  // of a tile: where its errors reach the bound

// The positions of a tile are read and written together: multiples of 4 KB would meet in one set of
// the cache.
std::int64_t position_stride(std::int64_t floats) {
  const std::int64_t padded = floats + kLine;
  return padded % 256 == 0 ? padded + kLine : padded;
}

/// Those that have an output.
std::int64_t tile_rows(const TileSpread& spread, std::int64_t length) {
  const std::int64_t runs = length / spread.run(), rest = length % spread.run();
  return runs * spread.dilation + std::min(rest, spread.dilation);
}

}  // namespace

Range WinogradPlan::piece(std::int64_t index) const {
  const std::int64_t run = column_spread.dilation;
  return {runs() * index / pieces * run, runs() * (index + 1) / pieces * run};
}

int WinogradPlan::largest_piece() const {
  return static_cast<int>(ceil_div(runs(), pieces) * column_spread.dilation);
}

int WinogradPlan::piece_sizes() const { return runs() % pieces == 0 ? 1 : 2; }

Segment WinogradPlan::segment(std::int64_t first, std::int64_t last) const {
  Segment segment;
  segment.column = first % tile_columns;
  segment.row = first / tile_columns % tile_rows;
  segment.image = first / tile_columns / tile_rows;
  segment.tiles = std::min({last - first, tile_columns - segment.column, segment_tiles()});
  return segment;
}

int WinogradPlan::vectors_of(std::int64_t channel_tile) const {
  return channel_tile + 1 == channel_tiles ? tail_vectors : config.vectors;
}

TileSpec WinogradPlan::product_spec(int pixels, int vectors) const {
  TileSpec spec{.isa = isa,
                .pixels = pixels,
                .vectors = vectors,
                .taps = 1,
                .first = 0,
                .last = pixels,
                .all_channels = true,
                .channels = inputs(),
                .steps = {.pixel = tile_stride() * kFloat, .channel = kFloat}};
  // A block may have fewer pieces than the largest; one that has a single piece asks for half.
  const std::int64_t fewest = pieces / ceil_div(pieces, block_pieces);
  if (asks_ahead) spec.asks_ahead = asks_for_weights(spec, std::max<std::int64_t>(fewest, 2));
  return spec;
}

std::vector<TileSpec> WinogradPlan::specs() const {
  std::vector<TileSpec> all;
  const auto add = [&](int vectors) {
    for (int runs_less = 0; runs_less < piece_sizes(); ++runs_less)
      all.push_back(product_spec(
          largest_piece() - runs_less * static_cast<int>(column_spread.dilation), vectors));
  };
  add(config.vectors);
  if (tail_vectors != config.vectors) add(tail_vectors);
  return all;
}

std::size_t WinogradPlan::kernel_of(std::int64_t tiles_of_piece, std::int64_t channel_tile) const {
  const std::int64_t tail = vectors_of(channel_tile) != config.vectors ? piece_sizes() : 0;
  return static_cast<std::size_t>(tail +
                                  (largest_piece() - tiles_of_piece) / column_spread.dilation);
}

std::int64_t WinogradPlan::tile_stride() const {
  const std::int64_t floats = ceil_div(inputs(), lanes()) * lanes();
  return floats + (floats % 256 == 0 ? kLine : 0);
}

std::int64_t WinogradPlan::values_stride() const {
  return position_stride(most_pieces * largest_piece() * tile_stride());
}

std::int64_t WinogradPlan::sums_stride() const {
  return position_stride(most_pieces * largest_piece() * width());
}

std::int64_t WinogradPlan::weights_stride(std::int64_t channel_tile) const {
  return position_stride(inputs() * width_of(channel_tile));
}

std::vector<TileAxes> winograd_axes(const ConvGeometry& conv) {
  std::vector<TileAxes> tiles;
  for (const Axis* rows : axes_of(conv.filter[1], conv.stride[1]))
    for (const Axis* columns : axes_of(conv.filter[2], conv.stride[2]))
      if (rows->points() * columns->points() <= kMostPoints &&
          columns->outputs * conv.dilation[2] <= kSegmentColumns)
        tiles.push_back({rows, columns});
  return tiles;
}

WinogradPlan winograd_plan(const DirectShape& shape, Isa isa, const WinogradConfig& config) {
  WinogradPlan plan;
  plan.isa = isa;
  plan.config = config;
  plan.shape = shape;
  plan.rows = find_axis(shape.conv.filter[1], shape.conv.stride[1], config.rows);
  plan.columns = find_axis(shape.conv.filter[2], shape.conv.stride[2], config.columns);
  plan.row_spread = {config.rows, shape.conv.dilation[1]};
  plan.column_spread = {config.columns, shape.conv.dilation[2]};
  const View& output = shape.conv.output;
  plan.tile_rows = tile_rows(plan.row_spread, output.len[3]);
  const std::int64_t run = plan.column_spread.dilation;
  plan.tile_columns = ceil_div(output.len[4], plan.column_spread.run()) * run;
  plan.tiles = output.len[0] * plan.tile_rows * plan.tile_columns;
  plan.pieces = ceil_div(plan.tiles, config.pixels / run * run);
  plan.block_pieces =
      std::clamp<std::int64_t>(config.tiles / (config.pixels / run * run), 1, plan.pieces);
  // A larger block costs less than transforming all weights before any is used.
  constexpr std::int64_t kKept = 1 << 20;
  const std::int64_t values = plan.positions() * plan.tiles * plan.tile_stride() * kFloat;
  plan.most_pieces = values <= kKept ? plan.pieces : plan.block_pieces;
  const std::int64_t vectors = ceil_div(plan.outputs(), plan.lanes());
  plan.config.vectors = static_cast<int>(std::min<std::int64_t>(config.vectors, vectors));
  plan.channel_tiles = ceil_div(vectors, plan.config.vectors);
  plan.tail_vectors = static_cast<int>(vectors - (plan.channel_tiles - 1) * plan.config.vectors);
  plan.asks_ahead = plan.block_pieces > 1 && weights_come_from_far(plan);
  return plan;
}

}  // namespace fuseplan::cpu
