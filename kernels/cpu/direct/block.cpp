// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/block.hpp"

#include <algorithm>

#include "kernels/cpu/direct/stage_pairs.hpp"

namespace fuseplan::cpu {
namespace {

void widen_row(const DirectPlan& plan, const Moves& moves, const StagedRow& row) {
  const View& view = plan.source.input;
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  const std::int64_t columns = row.columns.end - row.columns.begin;
  const std::int64_t channels = plan.source.group_inputs;
  const std::int64_t column_step = row.columns.step * view.stride[4];
  const bool by_pixel = plan.stage.channels_last;
  // Pixels of few channels that follow each other in both places are one line.
  const bool together = by_pixel && view.stride[1] == 1 && column_step == channels &&
                        plan.stage.column_stride == channels;
  const std::int64_t lines = together ? 1 : by_pixel ? columns : channels;
  const std::int64_t length = together ? columns * channels : by_pixel ? channels : columns;
  const std::int64_t stride = by_pixel ? view.stride[1] : column_step;
  const std::int64_t from_step = by_pixel ? column_step : view.stride[1];
  const std::int64_t to_step = by_pixel ? plan.stage.column_stride : plan.stage.channel_stride;
  float* to = reinterpret_cast<float*>(row.to) + row.columns.begin * plan.stage.column_stride;
  for (std::int64_t line = 0; line < lines; ++line)
    moves.widen(row.from + line * from_step * bytes, stride, to + line * to_step, length);
}

void stage_block(const DirectPlan& plan, const Moves& moves, const void* input, const Block& block,
                 std::byte* scratch) {
  const ConvGeometry& conv = plan.source;
  const View& view = conv.input;
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  const auto* group =
      static_cast<const std::byte*>(input) +
      (block.image * view.stride[0] + block.group * conv.group_inputs * view.stride[1]) * bytes;
  const StagedAxis planes = staged_axis(conv, 0, block.plane, 1);
  const StagedAxis rows = staged_axis(conv, 1, block.row, plan.block_rows);
  StagedRow staged;
  staged.columns = staged_axis(conv, 2, block.column, plan.block_columns);
  for (std::int64_t plane = planes.begin; plane < planes.end; ++plane)
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      staged.from =
          group + (planes.index(plane) * view.stride[2] + rows.index(row) * view.stride[3] +
                   staged.columns.index(staged.columns.begin) * view.stride[4]) *
                      bytes;
      staged.to = scratch + (plane * plan.stage.plane_stride + row * plan.stage.row_stride) *
                                plan.stage.element_bytes;
      if (plan.config.pairs) {
        stage_pairs(plan, staged);
      } else {
        widen_row(plan, moves, staged);
      }
    }
}

}  // namespace

InputMap InputMap::of_tensor(const DirectPlan& plan, const void* input, const Block& block) {
  const ConvGeometry& conv = plan.shape.conv;
  std::int64_t offset =
      block.image * conv.input.stride[0] + block.group * conv.group_inputs * conv.input.stride[1];
  for (std::size_t axis = 0; axis < 3; ++axis)
    offset -= conv.pad_lo[axis] * conv.input.stride[axis + 2];
  return {plan.steps, reinterpret_cast<std::int64_t>(input) +
                          offset * static_cast<std::int64_t>(size_of(plan.shape.input))};
}

InputMap InputMap::of_stage(const DirectPlan& plan, const Moves& moves, const void* input,
                            const Block& block, std::byte* scratch) {
  stage_block(plan, moves, input, block, scratch);
  const auto& step = plan.steps.output;
  return {plan.steps, reinterpret_cast<std::int64_t>(scratch) - block.plane * step[0] -
                          block.row * step[1] - block.column * step[2]};
}

}  // namespace fuseplan::cpu
