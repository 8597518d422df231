// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/plan.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/integer.hpp"
#include "kernels/cpu/emit/elements_ahead.hpp"
#include "kernels/cpu/matrix/tile_turns.hpp"
#include "kernels/cpu/staged_axis.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

void join_taps(MatrixPlan& plan) {
  ConvGeometry& conv = plan.shape.conv;
  conv.group_inputs *= conv.filter[2];
  conv.filter[2] = 1;
  if (!joins_rows(conv, conv.group_inputs, plan.product)) return;
  plan.joined_rows = conv.stride[1];
  conv.group_inputs *= plan.joined_rows;
  conv.filter[1] = ceil_div(conv.filter[1], plan.joined_rows);
  conv.stride[1] = 1;
}

// Rows of a tile do not cross lines where they begin at powers of two.
std::int64_t staged_piece_bytes(const MatrixPlan& plan) {
  const auto bytes = static_cast<std::uint64_t>(plan.depth * plan.element());
  return static_cast<std::int64_t>(std::bit_ceil(bytes));
}

void cut_blocks(MatrixPlan& plan) {
  const View& output = plan.shape.conv.output;
  const std::int64_t width = output.len[4], block = plan.config.block;
  plan.block_columns = width <= block ? width : round_up(block, plan.grid.rows());
  plan.block_columns = std::min(plan.block_columns, width);
  // In place, rows need not follow one another evenly.
  plan.block_rows =
      plan.config.staged ? std::clamp<std::int64_t>(block / width, 1, output.len[3]) : 1;
}

void lay_out_pixels(MatrixPlan& plan) {
  MatrixStage& stage = plan.stage;
  plan.piece_bytes = staged_piece_bytes(plan);
  plan.step_bytes = traits_of(plan.product).pieces * plan.piece_bytes;
  stage.column_bytes = plan.steps * plan.step_bytes;
  // Rows of a tile that lie whole multiples of that apart compete for the sets of the first-level
  // cache.
  constexpr std::int64_t kConflict = 256;
  if (stage.column_bytes % kConflict == 0) stage.column_bytes += kTileBytes;
  stage.row_bytes = plan.pitch * stage.column_bytes;
  stage.phase_bytes = stage.rows * stage.row_bytes;
  plan.tile_row_bytes = stage.column_bytes;
}

void lay_out_overlapping(MatrixPlan& plan) {
  MatrixStage& stage = plan.stage;
  const ConvGeometry& source = plan.source;
  stage.columns = ceil_div(staged_length(source, 2, plan.block_columns), source.stride[2]);
  plan.pitch = plan.block_columns == source.output.len[4]
                   ? overlapping_columns(source, plan.block_columns)
                   : stage.columns;
  plan.step_bytes = plan.depth * plan.element();
  stage.column_bytes = source.stride[2] * source.group_inputs * plan.element();
  stage.row_bytes = plan.pitch * stage.column_bytes;
  stage.phase_bytes = stage.rows * stage.row_bytes;
  plan.tile_row_bytes = stage.column_bytes;
}

void lay_out_planes(MatrixPlan& plan) {
  MatrixStage& stage = plan.stage;
  stage.column_bytes = kLaneBytes;
  stage.row_bytes = plan.pitch * stage.column_bytes;
  stage.lane_bytes = round_up(
      stage.rows * stage.row_bytes + (stage.columns - plan.pitch) * stage.column_bytes, kTileBytes);
  // An odd number of lines: rows of a tile then use all sets.
  if (stage.lane_bytes % (2 * kTileBytes) == 0) stage.lane_bytes += kTileBytes;
  plan.piece_bytes = kTileRows * stage.lane_bytes;
  plan.step_bytes = traits_of(plan.product).pieces * plan.piece_bytes;
  stage.phase_bytes = plan.steps * plan.step_bytes;
  plan.tile_row_bytes = stage.lane_bytes;
  constexpr std::int64_t kMostPositions = 256;
  plan.strip_positions =
      std::min(kMostPositions,
               round_up(plan.positions(plan.block_rows, plan.block_columns), plan.grid.rows()));
}

void stage_window(MatrixPlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  MatrixStage& stage = plan.stage;
  stage.rows = phase_length(conv, 1, plan.block_rows);
  stage.columns = phase_length(conv, 2, plan.block_columns);
  const bool whole_rows = plan.block_columns == conv.output.len[4];
  plan.pitch = stage.columns - (whole_rows ? shared_columns(conv) : 0);
  if (plan.overlaps_taps)
    lay_out_overlapping(plan);
  else
    plan.config.by_plane ? lay_out_planes(plan) : lay_out_pixels(plan);
  stage.plane_bytes = staged_step(conv, 1) * staged_step(conv, 2) * stage.phase_bytes;
  stage.image_bytes = conv.filter[0] * stage.plane_bytes;
  // The last tiles read what nobody wants.
  stage.bytes = plan.block_images * stage.image_bytes +
                (stage.columns - plan.pitch + plan.grid.rows()) * stage.column_bytes +
                plan.steps * kTileBytes;
  plan.pixel_bytes = stage.column_bytes;
  // A step's taps overlap in what they read: they follow one another.
  for (std::int64_t step = 0; step < plan.steps; ++step)
    for (std::int64_t d = 0; d < conv.filter[0]; ++d)
      for (std::int64_t h = 0; h < conv.filter[1]; ++h)
        for (std::int64_t w = 0; w < conv.filter[2]; ++w) {
          const std::int64_t row = h * conv.dilation[1], column = w * conv.dilation[2];
          plan.reads.push_back(step * plan.step_bytes + d * stage.plane_bytes +
                               stage.phase(conv, row, column) +
                               row / staged_step(conv, 1) * stage.row_bytes +
                               column / staged_step(conv, 2) * stage.column_bytes);
        }
}

void read_in_place(MatrixPlan& plan) {
  plan.step_bytes = plan.depth * plan.element();
  plan.pixel_bytes = plan.shape.conv.input.stride[4] * plan.element();
  plan.tile_row_bytes = plan.pixel_bytes;
  plan.pitch = plan.block_columns;
  for (std::int64_t step = 0; step < plan.steps; ++step)
    plan.reads.push_back(plan.first_channel(step) * plan.element());
}

bool has_even_rows(const MatrixPlan& plan) {
  // Rows of one pixel may be contiguous and yet apart.
  const bool lanes_are_pixels = plan.shape.tensors().lane_axis == 4;
  const auto evenly = [&](const View& view) {
    if (view.len[3] == 1) return true;
    if (lanes_are_pixels && view.len[4] == 1 && view.stride[3] > 1) return false;
    return view.stride[3] == view.len[4] * view.stride[4];
  };
  const View& output = plan.shape.conv.output;
  return !plan.config.by_row && evenly(output) &&
         std::ranges::all_of(plan.shape.elements,
                             [&](const ElementView& element) { return evenly(element.view); });
}

/// Whether a window can have any that waits.
bool has_whole_strips(const MatrixPlan& plan) {
  const std::int64_t pixels =
      plan.even_rows ? plan.positions(plan.block_rows, plan.block_columns) : plan.block_columns;
  return pixels >= plan.grid.rows();
}

/// What would push the other out of a first-level cache of 48 KB, and itself, too, before it is
/// wanted again: weights of one tile of channels by the next strip, or those of all by the next
/// window; a window's input by the next tile of channels.
Far far_operand(const MatrixPlan& plan) {
  constexpr std::int64_t kNearest = 48 << 10, kFewStrips = 2;
  const std::int64_t strips = plan.window_calls();
  const std::int64_t weights =
      (strips == 1 ? plan.group_vectors() : plan.grid.channels) * plan.vector_bytes();
  const std::int64_t input = plan.config.staged ? plan.block_images * plan.stage.image_bytes
                                                : plan.block_columns * plan.pixel_bytes;
  if (input + weights <= kNearest) return Far::nothing;
  if (strips <= kFewStrips) return Far::weights;
  if (plan.shape.taps() == 1) return Far::input;
  // Taps share their input, which stays if weights go past it. But each piece of weights is loaded
  // several times in a step, and images that share weights want them again at once.
  const bool once = !traits_of(plan.product).is_split() && plan.block_images == 1;
  return once && weights > kNearWeights ? Far::weights : Far::nothing;
}

/// Weights that a second-level cache of 2 MB does not keep between windows are fetched while those
/// before them are in use, some by each call: those of the next tile of channels, or, where a
/// single call uses them up, those that it will read itself a little later.
void plan_fetches(MatrixPlan& plan) {
  constexpr std::int64_t kLittleLater = 32 << 10;
  const std::int64_t calls = plan.window_calls();
  const std::int64_t step_lines = plan.grid.channels * traits_of(plan.product).pieces * kTileRows;
  if (weights_stay(plan.shape, plan.product)) return;
  plan.next_lines = static_cast<int>(ceil_div(step_lines, calls));
  plan.fetched_bytes = static_cast<std::int64_t>(plan.reads.size()) * plan.next_lines * kTileBytes;
  if (calls == 1) plan.fetches_ahead = kLittleLater;
}

/// Input that is far away, read where it lies and hardly more than once. Rows of a tile are pixels,
/// of which hardware foresees few: asked for, 256 to 64 channels at 56 x 56 pixels and batch 16
/// take 0.78 of the time. Where the second-level cache has it, asking costs up to 0.14.
bool asks_next_input(const MatrixPlan& plan) {
  constexpr std::int64_t kFewTimes = 2;
  return !plan.config.staged && plan.tiles_of_channels <= kFewTimes &&
         plan.shape.conv.input.elements() * plan.source_element() >= kFarBytes;
}

}  // namespace

std::int64_t MatrixStage::phase(const ConvGeometry& conv, std::int64_t row,
                                std::int64_t column) const {
  const std::int64_t across = staged_step(conv, 2);
  return (row % staged_step(conv, 1) * across + column % across) * phase_bytes;
}

std::vector<MatrixTileSpec> MatrixPlan::specs() const {
  MatrixTileSpec spec{.product = product,
                      .grid = grid,
                      .depth_bytes = depth * element(),
                      .steps = static_cast<std::int64_t>(reads.size()),
                      .by_plane = config.by_plane,
                      .row_bytes = tile_row_bytes,
                      .tile_bytes = kTileRows * pixel_bytes,
                      .last_is_apart = !config.staged || config.by_row,
                      .piece_bytes = piece_bytes,
                      .far = far,
                      .next_input = next_input,
                      .next_lines = next_lines};
  std::vector<MatrixTileSpec> list;
  for (const int vectors : {grid.channels, tail_vectors})
    for (int tiles = least_tiles(); tiles <= grid.pixels; ++tiles) {
      spec.tiles = tiles;
      spec.vectors = vectors;
      if (asks_elements)
        spec.asked_pixels = static_cast<int>(ceil_div(tiles * kTileRows, std::ssize(reads)));
      spec.sums_bytes = config.by_plane ? sums_bytes() : vectors * kTileBytes;
      list.push_back(spec);
    }
  const auto full = static_cast<std::size_t>(grid.pixels - least_tiles() + 1);
  if (tail_vectors == grid.channels) list.resize(full);
  list[full - 1].overlaps = overlaps;
  list[full - 1].grain = grain;
  list[full - 1].has_gaps = overlaps && !runs_on && even_rows;
  return list;
}

std::size_t MatrixPlan::kernel_of(int tiles, std::int64_t channel_tile) const {
  const bool second = vectors_of(channel_tile) != grid.channels;
  const int sizes = grid.pixels - least_tiles() + 1;
  return static_cast<std::size_t>(std::max(tiles - least_tiles(), 0) + (second ? sizes : 0));
}

std::vector<StripSpec> MatrixPlan::strips() const {
  const auto lanes =
      static_cast<int>(shape.conv.group_outputs - (group_vectors() - 1) * kTileLanes);
  const StripSpec full{grid.channels, kTileLanes}, tail{tail_vectors, lanes};
  if (tiles_of_channels == 1 || !has_short_tail()) return {tail};
  return {full, tail};
}

std::int64_t MatrixPlan::vector_bytes() const {
  return static_cast<std::int64_t>(reads.size()) * traits_of(product).pieces *
         (depth * element() / 4) * kTileBytes;
}

std::int64_t MatrixPlan::tiles(std::int64_t rows, std::int64_t columns) const {
  if (config.by_row) return rows * ceil_div(columns, kTileRows);
  return ceil_div(positions(rows, columns), kTileRows);
}

PixelTile MatrixPlan::tile(std::int64_t index, std::int64_t rows, std::int64_t columns,
                           std::int64_t column) const {
  PixelTile tile;
  std::int64_t row = 0, end = positions(rows, columns);
  if (config.by_row) {
    const std::int64_t across = ceil_div(columns, kTileRows);
    row = index / across;
    index %= across;
    end = columns;
  }
  const std::int64_t own = index * kTileRows;
  tile.count = static_cast<int>(std::min<std::int64_t>(kTileRows, end - own));
  tile.position = row * pitch + own;
  if (config.staged) return tile;
  // Behind the last pixel there may be no memory.
  const std::int64_t last = shape.conv.output.len[4] - kTileRows;
  tile.skip = static_cast<int>(std::max<std::int64_t>(0, column + own - last));
  tile.position -= tile.skip;
  return tile;
}

bool MatrixPlan::finishes_planes() const {
  const View& output = shape.conv.output;
  const std::int64_t pixels = output.len[3] * output.len[4];
  return config.by_plane && runs_on && output.len[2] == 1 && channels_are_runs(output) &&
         block_rows * block_columns >= pixels && strip_positions >= pixels;
}

MatrixPlan matrix_plan(const DirectShape& shape, const SplitChain& chain, Product product,
                       const MatrixConfig& config, std::int64_t merged) {
  MatrixPlan plan;
  plan.merged = merged;
  plan.product = product;
  plan.config = config;
  plan.grid = config.grid;
  plan.shape = shape;
  plan.source = shape.conv;
  plan.overlaps_taps = config.joined && taps_are_neighbours(shape, product);
  if (config.joined) join_taps(plan);
  plan.steps = steps_of(plan.shape.conv.group_inputs, product);
  plan.depth = equal_depth(plan.shape.conv.group_inputs, product);
  if (traits_of(product).is_split() || config.by_plane ||
      (config.staged && plan.steps > 1 && !plan.overlaps_taps))
    plan.depth = static_cast<int>(most_channels(product));
  if (!config.staged && plan.steps * plan.depth != plan.shape.conv.group_inputs) {
    plan.depth = static_cast<int>(most_channels(product));
    plan.repeated = plan.steps * plan.depth - plan.shape.conv.group_inputs;
  }
  const std::int64_t vectors = ceil_div(shape.conv.group_outputs, kTileLanes);
  plan.tiles_of_channels = ceil_div(vectors, plan.grid.channels);
  plan.tail_vectors = static_cast<int>(vectors - (plan.tiles_of_channels - 1) * plan.grid.channels);
  plan.finish = finish_spec(plan.shape.tensors(), chain);
  plan.finish.integers = traits_of(product).sums == DType::i32;
  plan.finish.bf16 = product == Product::bf16;
  plan.in_strips = !config.by_plane && strip_finisher_takes(plan.finish);
  plan.asks_elements =
      plan.in_strips && std::ranges::any_of(plan.finish.elements, ElementsAhead::is_asked_for);
  cut_blocks(plan);
  if (config.staged) plan.block_images = images_of_window(shape, product, config.block);
  config.staged ? stage_window(plan) : read_in_place(plan);
  const std::int64_t width = shape.conv.output.len[4];
  plan.even_rows = has_even_rows(plan);
  plan.runs_on =
      !config.by_row && (plan.block_rows == 1 || (plan.even_rows && plan.pitch == width));
  // With a single step, squares lost by it (64 channels at 56 x 56 pixels, batch 16) and wide
  // kernels gained 10 to 20 %.
  plan.overlaps = plan.in_strips && has_whole_strips(plan) &&
                  (config.grid == kWideGrid || plan.reads.size() > 1) &&
                  shape.conv.group_outputs >= plan.grid.lanes() &&
                  plan.finish.reaches({plan.grid.lanes(), 0, plan.grid.rows()});
  plan.grain = most_finished(plan.grid, product, std::ssize(plan.reads));
  if (plan.even_rows && !plan.runs_on)
    plan.grain = static_cast<int>(std::gcd(std::int64_t{plan.grain}, std::gcd(width, plan.pitch)));
  plan.far = far_operand(plan);
  plan_fetches(plan);
  plan.next_input = asks_next_input(plan);
  return plan;
}

}  // namespace fuseplan::cpu
