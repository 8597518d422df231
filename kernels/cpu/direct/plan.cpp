// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/plan.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// An axis with one tap is copied without the columns or rows its stride skips.
std::int64_t staged_step(const ConvGeometry& conv, std::size_t axis) {
  return conv.filter[axis] == 1 ? 1 : conv.stride[axis];
}

std::int64_t staged_length(const ConvGeometry& conv, std::size_t axis, std::int64_t outputs) {
  return (outputs - 1) * staged_step(conv, axis) + (conv.filter[axis] - 1) * conv.dilation[axis] +
         1;
}

StagedBlock stage_of(const ConvGeometry& conv, std::int64_t rows, std::int64_t columns) {
  StagedBlock stage;
  stage.channels_last = conv.input.stride[1] == 1;
  stage.planes = staged_length(conv, 0, 1);
  stage.rows = staged_length(conv, 1, rows);
  stage.columns = staged_length(conv, 2, columns);
  const std::int64_t channels = conv.group_inputs;
  if (stage.channels_last) {
    // Pixels 4 KB apart would all compete for one set of the first-level cache.
    const bool conflicts = channels % 256 == 0;
    stage.channel_stride = 1;
    stage.column_stride = channels + (conflicts ? 16 : 0);
    stage.row_stride = stage.columns * stage.column_stride;
  } else {
    stage.column_stride = 1;
    stage.channel_stride = stage.columns;
    stage.row_stride = channels * stage.channel_stride;
  }
  stage.plane_stride = stage.rows * stage.row_stride;
  return stage;
}

InputSteps tensor_steps(const ConvGeometry& conv) {
  InputSteps steps;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    steps.output[axis] = conv.stride[axis] * conv.input.stride[axis + 2] * kFloat;
    steps.tap[axis] = conv.dilation[axis] * conv.input.stride[axis + 2] * kFloat;
  }
  steps.channel = conv.input.stride[1] * kFloat;
  return steps;
}

InputSteps staged_steps(const ConvGeometry& conv, const StagedBlock& stage) {
  const std::array strides{stage.plane_stride, stage.row_stride, stage.column_stride};
  InputSteps steps;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    steps.output[axis] = staged_step(conv, axis) * strides[axis] * kFloat;
    steps.tap[axis] = conv.dilation[axis] * strides[axis] * kFloat;
  }
  steps.channel = stage.channel_stride * kFloat;
  return steps;
}

void cut_channels(DirectPlan& plan) {
  const ConvGeometry& conv = plan.shape.conv;
  const std::int64_t vectors = ceil_div(conv.group_outputs, plan.lanes());
  plan.tile_lanes = static_cast<std::int64_t>(plan.config.vectors) * plan.lanes();
  plan.tiles_of_channels = ceil_div(vectors, plan.config.vectors);
  plan.tail_vectors =
      static_cast<int>(vectors - (plan.tiles_of_channels - 1) * plan.config.vectors);
  plan.chunk = std::clamp<std::int64_t>(plan.config.chunk, 1, conv.group_inputs);
  plan.chunks = ceil_div(conv.group_inputs, plan.chunk);
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
  const std::int64_t depth = shape.conv.group_inputs * shape.taps();
  if (channel_tile < tiles_of_channels) return channel_tile * tile_lanes * depth;
  return ((tiles_of_channels - 1) * config.vectors + tail_vectors) * lanes() * depth;
}

DirectPlan direct_plan(const DirectShape& shape, Isa isa, const DirectConfig& config) {
  DirectPlan plan;
  plan.isa = isa;
  plan.config = config;
  plan.shape = shape;
  plan.staged = config.staged || shape.input != DType::f32;
  cut_channels(plan);
  // Where a row is cut does not depend on the steps, but how much of it is staged, and with it the
  // steps, depends on the cut.
  TileSpec base;
  base.isa = isa;
  base.vectors = config.vectors;
  plan.tiling = cut_row(shape.conv, base, config.pixels);
  cut_blocks(plan);
  plan.stage = stage_of(shape.conv, plan.block_rows, plan.block_columns);
  plan.steps = plan.staged ? staged_steps(shape.conv, plan.stage) : tensor_steps(shape.conv);
  for (TileSpec& spec : plan.tiling.variants)
    spec.steps = {.pixel = plan.steps.output[2],
                  .tap = plan.steps.tap[2],
                  .row = plan.steps.tap[1],
                  .plane = plan.steps.tap[0],
                  .channel = plan.steps.channel};
  return plan;
}

}  // namespace fuseplan::cpu
