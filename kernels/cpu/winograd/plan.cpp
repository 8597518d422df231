// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/plan.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Range WinogradPlan::piece(std::int64_t index) const {
  return {tiles * index / pieces, tiles * (index + 1) / pieces};
}

int WinogradPlan::largest_piece() const { return static_cast<int>(ceil_div(tiles, pieces)); }

Segment WinogradPlan::segment(std::int64_t first, std::int64_t last) const {
  Segment segment;
  segment.column = first % tile_columns;
  segment.row = first / tile_columns % tile_rows;
  segment.image = first / tile_columns / tile_rows;
  segment.tiles = std::min<std::int64_t>(
      {last - first, tile_columns - segment.column, std::int64_t{kSegmentTiles}});
  return segment;
}

int WinogradPlan::vectors_of(std::int64_t channel_tile) const {
  return channel_tile + 1 == channel_tiles ? tail_vectors : kPieceVectors;
}

std::vector<TileSpec> WinogradPlan::specs() const {
  std::vector<TileSpec> all;
  for (int vectors = kPieceVectors; vectors > 0; --vectors)
    for (int tiles_less = 0; tiles_less < 2; ++tiles_less) {
      // Pieces of one tile have none that is smaller; the slot keeps the order simple.
      const int pixels = std::max(1, largest_piece() - tiles_less);
      all.push_back({.isa = Isa::avx512,
                     .pixels = pixels,
                     .vectors = vectors,
                     .taps = 1,
                     .first = 0,
                     .last = pixels,
                     .steps = {.pixel = tile_stride() * kFloat, .channel = kFloat}});
    }
  return all;
}

std::size_t WinogradPlan::kernel_of(std::int64_t tiles_of_piece, std::int64_t channel_tile) const {
  const std::int64_t narrow = kPieceVectors - vectors_of(channel_tile);
  return static_cast<std::size_t>(narrow * 2 + largest_piece() - tiles_of_piece);
}

std::int64_t WinogradPlan::tile_stride() const {
  const std::int64_t floats = ceil_div(inputs(), kTileLanes) * kTileLanes;
  return floats + (floats % 256 == 0 ? kTileLanes : 0);
}

WinogradPlan winograd_plan(const DirectShape& shape, const WinogradConfig& config) {
  WinogradPlan plan;
  plan.config = config;
  plan.shape = shape;
  const View& output = shape.conv.output;
  plan.tile_rows = ceil_div(output.len[3], kTileOutputs);
  plan.tile_columns = ceil_div(output.len[4], kTileOutputs);
  plan.tiles = output.len[0] * plan.tile_rows * plan.tile_columns;
  plan.pieces = ceil_div(plan.tiles, kPieceTiles);
  plan.block_pieces = std::clamp<std::int64_t>(config.tiles / kPieceTiles, 1, plan.pieces);
  const std::int64_t vectors = ceil_div(plan.outputs(), kTileLanes);
  plan.channel_tiles = ceil_div(vectors, kPieceVectors);
  plan.tail_vectors = static_cast<int>(vectors - (plan.channel_tiles - 1) * kPieceVectors);
  return plan;
}

std::int64_t position_stride(std::int64_t floats) {
  const std::int64_t padded = floats + kTileLanes;
  return padded % 256 == 0 ? padded + kTileLanes : padded;
}

}  // namespace fuseplan::cpu
