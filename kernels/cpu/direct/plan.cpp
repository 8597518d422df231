// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/plan.hpp"

#include <algorithm>
#include <cmath>

#include "base/integer.hpp"
#include "kernels/cpu/direct/ahead.hpp"
#include "kernels/cpu/emit/expr_code.hpp"
#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/staged_axis.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float), kHalf = sizeof(std::uint16_t);

std::int64_t padded_channels(const DirectPlan& plan) {
  // Pixels 4 KB apart would all compete for one set of the first-level cache.
  constexpr std::int64_t kLine = 64, kConflict = 1024;
  const std::int64_t bytes = plan.source.group_inputs * plan.stage.element_bytes;
  return plan.source.group_inputs + (bytes % kConflict == 0 ? kLine / plan.stage.element_bytes : 0);
}

void stage_block(DirectPlan& plan) {
  const ConvGeometry& conv = plan.source;
  StagedBlock& stage = plan.stage;
  stage.channels_last = conv.input.stride[1] == 1 || plan.joined;
  stage.element_bytes = plan.config.pairs && stage.channels_last ? kHalf : kFloat;
  stage.planes = staged_length(conv, 0, 1);
  stage.rows = staged_length(conv, 1, plan.block_rows);
  stage.columns = staged_length(conv, 2, plan.block_columns);
  if (stage.channels_last) {
    stage.channel_stride = 1;
    stage.column_stride = padded_channels(plan);
    stage.row_stride = stage.columns * stage.column_stride;
  } else {
    stage.column_stride = 1;
    stage.channel_stride = stage.columns;
    stage.row_stride = plan.depth * stage.channel_stride;
  }
  stage.plane_stride = stage.rows * stage.row_stride;
}

InputSteps tensor_steps(const DirectPlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  InputSteps steps;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    steps.output[axis] = conv.stride[axis] * conv.input.stride[axis + 2] * bytes;
    steps.tap[axis] = conv.dilation[axis] * conv.input.stride[axis + 2] * bytes;
  }
  steps.channel = plan.config.pairs ? kFloat : conv.input.stride[1] * bytes;
  return steps;
}

InputSteps staged_steps(const DirectPlan& plan) {
  const ConvGeometry& conv = plan.source;
  const StagedBlock& stage = plan.stage;
  const std::array strides{stage.plane_stride, stage.row_stride, stage.column_stride};
  InputSteps steps;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t bytes = strides[axis] * stage.element_bytes;
    steps.output[axis] = staged_step(conv, axis) * bytes;
    steps.tap[axis] = conv.dilation[axis] * bytes;
  }
  steps.channel = stage.channels_last ? kFloat : stage.channel_stride * kFloat;
  return steps;
}

// Even numbers of channels fill their pairs; long rows of pairs lose little to one odd channel.
bool joins(const DirectShape& shape) {
  constexpr std::int64_t kFewChannels = 8;
  const ConvGeometry& conv = shape.conv;
  return conv.group_inputs % 2 != 0 && conv.group_inputs < kFewChannels && conv.filter[2] > 1 &&
         conv.dilation[2] == 1;
}

void join_taps(DirectPlan& plan) {
  ConvGeometry& conv = plan.shape.conv;
  plan.joined = true;
  conv.group_inputs *= conv.filter[2];
  conv.filter[2] = 1;
  conv.pad_lo[2] = 0;
  conv.input.len[4] = (conv.output.len[4] - 1) * conv.stride[2] + 1;
}

void choose_steps(DirectPlan& plan) {
  plan.source = plan.shape.conv;
  plan.depth = plan.shape.conv.group_inputs;
  plan.staged = plan.config.staged || plan.shape.input != DType::f32;
  if (!plan.config.pairs) return;
  if (joins(plan.shape)) join_taps(plan);
  const bool lies_in_pairs = plan.source.input.stride[1] == 1;
  const std::int64_t channels = plan.shape.conv.group_inputs;
  plan.depth = ceil_div(channels, 2);
  plan.odd = channels % 2 != 0 && (plan.joined || lies_in_pairs);
  plan.staged = plan.config.staged || plan.joined || !lies_in_pairs;
}

void cut_channels(DirectPlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  const std::int64_t vectors = ceil_div(conv.group_outputs, plan.lanes());
  plan.tile_lanes = static_cast<std::int64_t>(plan.config.vectors) * plan.lanes();
  plan.tiles_of_channels = ceil_div(vectors, plan.config.vectors);
  plan.tail_vectors =
      static_cast<int>(vectors - (plan.tiles_of_channels - 1) * plan.config.vectors);
  const std::int64_t chunk = ceil_div(plan.config.chunk, plan.config.pairs ? 2 : 1);
  plan.chunk = plan.joined ? plan.depth : std::clamp<std::int64_t>(chunk, 1, plan.depth);
  plan.chunks = ceil_div(plan.depth, plan.chunk);
}

// Whole rows if they fit the block, else runs of strips of a single row.
void cut_blocks(DirectPlan& plan) {
  const View& output = plan.shape.conv.output;
  const std::int64_t width = output.len[4];
  const Tiling& tiling = plan.tiling;
  plan.block_rows = std::clamp<std::int64_t>(plan.config.block / width, 1, output.len[3]);
  plan.block_strips = tiling.strips.size();
  plan.block_columns = width;
  if (width <= plan.config.block) return;
  const std::int64_t strip = tiling.strips.front().width;
  const std::int64_t blocks = ceil_div(width, std::max(plan.config.block, strip));
  plan.block_strips =
      static_cast<std::size_t>(ceil_div(static_cast<std::int64_t>(tiling.strips.size()), blocks));
  plan.block_columns = 0;
  for (std::size_t i = 0; i < tiling.strips.size(); i += plan.block_strips) {
    std::int64_t columns = 0;
    for (std::size_t j = i; j < std::min(i + plan.block_strips, tiling.strips.size()); ++j)
      columns += tiling.strips[j].width;
    plan.block_columns = std::max(plan.block_columns, columns);
  }
}

/// Bytes of the input that windows cover: strides that are larger than the filter skip some. Along
/// the first `axes`: whole rows are two of three.
double covered_bytes(const DirectShape& shape, std::size_t axes) {
  auto bytes =
      static_cast<double>(shape.conv.input.elements()) * static_cast<double>(size_of(shape.input));
  for (std::size_t axis = 0; axis < axes; ++axis)
    bytes *= std::min(1.0, static_cast<double>(shape.conv.filter[axis]) /
                               static_cast<double>(shape.conv.stride[axis]));
  return bytes;
}

// Where hardware would guess the next lines wrongly, or late: it follows one pixel's channels, and
// the next block is as far away as this one is large. Layers that write more than half of what they
// read have the time to wait, and lost 2 to 10 % by asking.
bool asks_for_input(const DirectPlan& plan) {
  const DirectShape& shape = plan.shape;
  const View& input = shape.conv.input;
  const bool has_next = input.len[3] > 1 ? input.stride[3] == input.len[4] * input.stride[4]
                                         : plan.block_strips < plan.tiling.strips.size();
  const bool is_dense = input.stride[1] == 1 && input.stride[4] == input.len[1] && has_next;
  const double written = static_cast<double>(shape.conv.output.elements()) *
                         static_cast<double>(size_of(shape.output));
  return !plan.staged && shape.conv.groups == 1 && is_dense &&
         input.elements() * static_cast<std::int64_t>(size_of(shape.input)) > kFarBytes &&
         covered_bytes(shape, 3) >= 2 * written;
}

/// As often as the input has lines for each turn of its kernels.
int asks_of_turn(const DirectPlan& plan, const TileSpec& spec) {
  const ConvGeometry& conv = plan.shape.conv;
  const int channels = channels_of_turn(spec);
  const std::int64_t turns = ceil_div(conv.output.len[0] * conv.output.pixels(), spec.pixels) *
                             plan.tiles_of_channels * ceil_div(plan.depth, channels) *
                             conv.filter[0] * conv.filter[1];
  const double lines = covered_bytes(plan.shape, 2) / double{kCacheLine};
  return std::clamp(static_cast<int>(std::ceil(lines / static_cast<double>(turns))), 1, channels);
}

/// Calls that read the same weights of a block one after another, where threads do not cut blocks.
std::int64_t calls_of_block(const DirectPlan& plan) {
  const std::int64_t rows = plan.shape.conv.output.len[3];
  const std::int64_t fewest = rows / ceil_div(rows, plan.block_rows);
  const std::int64_t blocks_of_row =
      ceil_div(std::ssize(plan.tiling.strips), static_cast<std::int64_t>(plan.block_strips));
  return fewest * std::max<std::int64_t>(1, std::ssize(plan.tiling.tiles) / blocks_of_row);
}

/// Taps of every row and plane of the filter see the image from some output.
bool reads_all_weights(const ConvGeometry& conv) {
  for (std::size_t axis = 0; axis < 2; ++axis)
    if ((conv.filter[axis] - 1) * conv.dilation[axis] >= conv.input.len[axis + 2]) return false;
  return true;
}

// Weights of which a part after the other is read by several calls.
bool weights_pass_by(const DirectPlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  const std::int64_t bytes = plan.weight_offset(plan.tiles_of_channels) * kFloat;
  return conv.groups == 1 && bytes > kFarWeightBytes && reads_all_weights(conv) &&
         plan.tiles_of_channels * plan.chunks > 1 && calls_of_block(plan) > 1 &&
         !plan.tiling.variants.front().tap_loop;
}

Asked asked_of(const DirectPlan& plan) {
  if (asks_for_input(plan)) return Asked::input;
  return weights_pass_by(plan) ? Asked::weights : Asked::nothing;
}

// Whole vectors only.
bool takes_registers(const DirectPlan& plan) {
  return plan.shape.lanes_are_channels && plan.shape.conv.group_outputs % plan.lanes() == 0 &&
         is_applied_in_registers(plan.finish.body) &&
         plan.finish.reaches({plan.tile_lanes, 0, plan.config.pixels});
}

}  // namespace

std::vector<TileSpec> DirectPlan::specs() const {
  std::vector<TileSpec> all;
  if (tiles_of_channels > 1 || tail_vectors == config.vectors) all = tiling.variants;
  if (tail_vectors != config.vectors)
    for (TileSpec spec : tiling.variants) {
      spec.vectors = tail_vectors;
      all.push_back(spec);
    }
  return all;
}

int DirectPlan::kernel_of(int variant, std::int64_t channel_tile) const {
  const bool second = tiles_of_channels > 1 && vectors_of(channel_tile) != config.vectors;
  return variant + (second ? static_cast<int>(tiling.variants.size()) : 0);
}

int DirectPlan::vectors_of(std::int64_t channel_tile) const {
  return channel_tile + 1 == tiles_of_channels ? tail_vectors : config.vectors;
}

std::int64_t DirectPlan::weight_offset(std::int64_t channel_tile) const {
  const std::int64_t per_lane = depth * shape.taps();
  if (channel_tile < tiles_of_channels) return channel_tile * tile_lanes * per_lane;
  return ((tiles_of_channels - 1) * config.vectors + tail_vectors) * lanes() * per_lane;
}

DirectPlan direct_plan(const DirectShape& shape, const SplitChain& chain, const Target& target,
                       const DirectConfig& config) {
  DirectPlan plan;
  plan.isa = target.isa;
  plan.config = config;
  plan.shape = shape;
  choose_steps(plan);
  cut_channels(plan);
  // Where a row is cut does not depend on the steps, but how much of it is staged, and with it the
  // steps, depends on the cut.
  TileSpec base;
  base.isa = plan.isa;
  base.vectors = config.vectors;
  base.pairs = config.pairs;
  base.odd = plan.odd;
  base.all_channels = plan.chunks == 1;
  if (base.all_channels) base.channels = plan.depth - (plan.odd ? 1 : 0);
  plan.tiling = cut_row(plan.shape.conv, base, config.pixels);
  cut_blocks(plan);
  stage_block(plan);
  plan.steps = plan.staged ? staged_steps(plan) : tensor_steps(plan);
  plan.asks_for = asked_of(plan);
  for (TileSpec& spec : plan.tiling.variants) {
    if (plan.asks_for == Asked::input) spec.asks_ahead = asks_of_turn(plan, spec);
    if (plan.asks_for == Asked::weights)
      spec.asks_ahead = asks_for_weights(spec, calls_of_block(plan));
    spec.steps = {.pixel = plan.steps.output[2],
                  .tap = plan.steps.tap[2],
                  .row = plan.steps.tap[1],
                  .plane = plan.steps.tap[0],
                  .channel = plan.steps.channel};
  }
  plan.rows = rows_spec(plan.shape.tensors(), chain, plan.isa);
  plan.finish = finish_spec(plan.shape.tensors(), chain);
  plan.rows.bf16 = plan.finish.bf16 = target.extensions.bf16;
  plan.in_registers = takes_registers(plan);
  return plan;
}

}  // namespace fuseplan::cpu
