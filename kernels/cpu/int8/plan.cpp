// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/plan.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {
namespace {

// Taps of a row lie side by side, so that their channels make one run.
bool is_dense(const ConvGeometry& conv) { return conv.filter[2] == 1 || conv.dilation[2] == 1; }

/// Unsigned bytes with contiguous channels and nothing around them are read where they lie.
bool needs_stage(const BytePlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  if (plan.dot.kind != DotKind::quads || plan.is_signed()) return true;
  if (conv.input.stride[1] != 1 || conv.group_inputs % plan.dot.depth() != 0) return true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t last = (conv.output.len[axis + 2] - 1) * conv.stride[axis];
    if (conv.filter[axis] != 1 || conv.pad_lo[axis] != 0 || last >= conv.input.len[axis + 2])
      return true;
  }
  constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / 64;
  return conv.input.stride[3] * conv.stride[1] > kReach ||
         conv.input.stride[4] * conv.stride[2] > kReach;
}

ByteStage stage_of(const BytePlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  ByteStage stage;
  stage.planes = staged_length(conv, 0, 1);
  stage.rows = staged_length(conv, 1, plan.block_rows);
  stage.columns = staged_length(conv, 2, plan.block_columns);
  // Pixels whose distance divides 4 KB compete for the sets of the first-level cache.
  const bool conflicts = conv.group_inputs * plan.dot.element() % 512 == 0;
  stage.column_step = conv.group_inputs;
  if (conflicts && conv.filter[2] == 1) stage.column_step += 64 / plan.dot.element();
  stage.row_step = stage.columns * stage.column_step;
  stage.plane_step = stage.rows * stage.row_step;
  return stage;
}

ByteReduction reduction_of(const BytePlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  const std::int64_t element = plan.dot.element();
  const std::int64_t channels = conv.group_inputs;
  const bool dense = is_dense(conv);
  ByteReduction reduction;
  reduction.planes = conv.filter[0];
  reduction.rows = conv.filter[1];
  reduction.runs = dense ? 1 : conv.filter[2];
  reduction.lanes = ceil_div(dense ? conv.filter[2] * channels : channels, plan.dot.depth());
  reduction.plane_step = conv.dilation[0] * plan.stage.plane_step * element;
  reduction.row_step = conv.dilation[1] * plan.stage.row_step * element;
  reduction.run_step = conv.dilation[2] * plan.stage.column_step * element;
  return reduction;
}

PixelSteps input_steps(const BytePlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  if (!plan.staged)
    return {conv.stride[1] * conv.input.stride[3], conv.stride[2] * conv.input.stride[4]};
  return {staged_step(conv, 1) * plan.stage.row_step * plan.dot.element(),
          staged_step(conv, 2) * plan.stage.column_step * plan.dot.element()};
}

void cut_channels(BytePlan& plan) {
  const std::int64_t channels = plan.shape.conv.group_outputs, lanes = plan.lanes();
  const std::int64_t vectors = ceil_div(channels, lanes);
  plan.tile_lanes = plan.config.vectors * lanes;
  plan.tiles_of_channels = ceil_div(vectors, plan.config.vectors);
  plan.tail_vectors =
      static_cast<int>(vectors - (plan.tiles_of_channels - 1) * plan.config.vectors);
  plan.tail_lanes = static_cast<int>(channels - (vectors - 1) * lanes);
}

// A row's tiles differ by one pixel at most, the longer ones first.
void cut_row(BytePlan& plan) {
  const std::int64_t width = plan.shape.conv.output.len[4];
  const std::int64_t count = ceil_div(width, plan.config.pixels);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = ceil_div(width * i, count), to = ceil_div(width * (i + 1), count);
    plan.row_tiles.push_back({from, static_cast<int>(to - from)});
  }
}

void cut_blocks(BytePlan& plan) {
  const View& output = plan.shape.conv.output;
  const std::int64_t width = output.len[4], height = output.len[3];
  plan.tile_rows =
      static_cast<int>(std::clamp<std::int64_t>(plan.config.pixels / width, 1, height));
  plan.block_bands = std::clamp<std::int64_t>(plan.config.block / (width * plan.tile_rows), 1,
                                              ceil_div(height, plan.tile_rows));
  plan.block_rows = std::min(plan.block_bands * plan.tile_rows, height);
  plan.block_tiles = plan.row_tiles.size();
  plan.block_columns = width;
  if (width <= plan.config.block) return;
  const auto tiles = static_cast<std::int64_t>(plan.row_tiles.size());
  const std::int64_t blocks = std::min(ceil_div(width, plan.config.block), tiles);
  plan.block_tiles = static_cast<std::size_t>(ceil_div(tiles, blocks));
  // The first tiles are the longest.
  const ByteRowTile& last = plan.row_tiles[plan.block_tiles - 1];
  plan.block_columns = last.column + last.pixels;
}

/// Whether padding adds nothing to a sum: signed bytes are multiplied as x + 128.
bool padding_is_zero(const BytePlan& plan) {
  return plan.dot.kind != DotKind::quads || !plan.is_signed();
}

/// Of the taps of `outputs` outputs from `output` on.
TapReach reach_of(const ConvGeometry& conv, std::size_t axis, std::int64_t output,
                  std::int64_t outputs) {
  const std::int64_t first = output * conv.stride[axis] - conv.pad_lo[axis];
  const std::int64_t span =
      (outputs - 1) * conv.stride[axis] + (conv.filter[axis] - 1) * conv.dilation[axis] + 1;
  const TapReach reach{.stride = conv.stride[axis],
                       .dilation = conv.dilation[axis],
                       .low = std::clamp<std::int64_t>(-first, 0, span),
                       .high = std::clamp<std::int64_t>(conv.input.len[axis + 2] - first, 0, span)};
  return reach.low == 0 && reach.high == span ? TapReach{} : reach;
}

std::size_t add_variant(BytePlan& plan, const ByteTileSpec& spec) {
  const auto found = std::ranges::find(plan.variants, spec);
  const auto index = static_cast<std::size_t>(found - plan.variants.begin());
  if (found == plan.variants.end()) plan.variants.push_back(spec);
  return index;
}

/// Tiles that are bands: those at a border leave out the taps that stand beside the image and, with
/// `by_rows`, above and below it. False if that makes too many of them.
bool add_bands(BytePlan& plan, ByteTileSpec spec, bool by_rows) {
  constexpr std::size_t kMost = 5;  // as 5 x 5 taps make of single rows
  const ConvGeometry& conv = plan.shape.conv;
  const std::int64_t height = conv.output.len[3];
  spec.width = static_cast<int>(conv.output.len[4]);
  // Channels of neighbouring taps share a lane if they fill no whole ones.
  const bool apart = conv.filter[2] == 1 || conv.group_inputs % plan.dot.depth() == 0;
  if (padding_is_zero(plan) && apart) spec.columns = reach_of(conv, 2, 0, spec.width);
  if (spec.columns != TapReach{}) spec.taps = conv.filter[2];
  const auto spec_of = [&](std::int64_t band) {
    const std::int64_t row = band * plan.tile_rows;
    const auto rows = static_cast<int>(std::min<std::int64_t>(plan.tile_rows, height - row));
    ByteTileSpec own = spec;
    own.pixels = rows * spec.width;
    if (by_rows && padding_is_zero(plan)) own.rows = reach_of(conv, 1, row, rows);
    return own;
  };
  const auto is_inside = [&](std::int64_t band) {
    const ByteTileSpec own = spec_of(band);
    return own.rows == TapReach{} && own.pixels == plan.tile_rows * spec.width;
  };
  const auto fits = [&](const std::vector<std::size_t>& border) {
    return border.size() <= kMost && plan.variants.size() <= kMost;
  };
  plan.variants.clear();
  BandVariants bands;
  bands.count = ceil_div(height, std::int64_t{plan.tile_rows});
  std::int64_t begin = 0, end = bands.count;
  for (; begin < end && !is_inside(begin) && fits(bands.first); ++begin)
    bands.first.push_back(add_variant(plan, spec_of(begin)));
  for (; begin < end && !is_inside(end - 1) && fits(bands.last); --end)
    bands.last.push_back(add_variant(plan, spec_of(end - 1)));
  if (begin < end) bands.middle = add_variant(plan, spec_of(begin));
  plan.bands = std::move(bands);
  return fits(plan.bands.first) && fits(plan.bands.last);
}

void add_variants(BytePlan& plan) {
  ByteTileSpec spec;
  spec.isa = plan.isa;
  spec.dot = plan.dot;
  spec.vectors = plan.config.vectors;
  spec.last_lanes = plan.lanes();
  spec.input = input_steps(plan);
  spec.reduction = plan.reduction;
  spec.finished = plan.finished;
  if (plan.row_tiles.size() == 1) {
    if (!add_bands(plan, spec, true)) add_bands(plan, spec, false);
    return;
  }
  for (const ByteRowTile& tile : plan.row_tiles) {
    spec.pixels = spec.width = tile.pixels;
    add_variant(plan, spec);
  }
}

bool takes_registers(const BytePlan& plan, const SplitChain& chain) {
  const std::int64_t channels = plan.config.vectors * plan.lanes();
  return plan.shape.lanes_are_channels && is_applied_in_registers(chain.body) &&
         plan.finish.reaches({channels, plan.config.pixels, plan.config.pixels});
}

}  // namespace

std::vector<ByteTileSpec> BytePlan::specs() const {
  std::vector<ByteTileSpec> all;
  if (tiles_of_channels > 1 || is_full_tail()) all = variants;
  if (is_full_tail()) return all;
  for (ByteTileSpec spec : variants) {
    spec.vectors = tail_vectors;
    if (finished) spec.last_lanes = tail_lanes;
    all.push_back(spec);
  }
  return all;
}

bool BytePlan::is_full_tail() const {
  return tail_vectors == config.vectors && (!finished || tail_lanes == lanes());
}

std::size_t BytePlan::kernel_of(std::int64_t row, std::int64_t pixels,
                                std::int64_t channel_tile) const {
  const std::size_t variant =
      bands.count > 0
          ? bands.of(row / tile_rows)
          : static_cast<std::size_t>(std::ranges::find(variants, pixels, &ByteTileSpec::pixels) -
                                     variants.begin());
  const bool second =
      tiles_of_channels > 1 && channel_tile + 1 == tiles_of_channels && !is_full_tail();
  return variant + (second ? variants.size() : 0);
}

int BytePlan::vectors_of(std::int64_t channel_tile) const {
  return channel_tile + 1 == tiles_of_channels ? tail_vectors : config.vectors;
}

std::int64_t BytePlan::weight_offset(std::int64_t channel_tile) const {
  const std::int64_t vectors = channel_tile < tiles_of_channels
                                   ? channel_tile * config.vectors
                                   : (tiles_of_channels - 1) * config.vectors + tail_vectors;
  return vectors * lanes() * 4 * (1 + reduction.total());
}

BytePlan byte_plan(const DirectShape& shape, const SplitChain& chain, Isa isa, DotKind dot,
                   const ByteConfig& config) {
  BytePlan plan;
  plan.isa = isa;
  plan.dot.kind = dot;
  plan.config = config;
  plan.shape = shape;
  plan.finish = finish_spec(plan.shape.tensors(), chain);
  plan.finish.integers = true;
  plan.finished = takes_registers(plan, chain);
  cut_channels(plan);
  cut_row(plan);
  cut_blocks(plan);
  plan.staged = needs_stage(plan);
  plan.stage = stage_of(plan);
  plan.reduction = reduction_of(plan);
  add_variants(plan);
  return plan;
}

}  // namespace fuseplan::cpu
