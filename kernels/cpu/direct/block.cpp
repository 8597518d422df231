// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/block.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

/// Entries [begin, end) of a staged axis that lie inside the image; entry i is input index
/// first + i * step.
struct Axis {
  std::int64_t first, step, begin, end;
  std::int64_t index(std::int64_t i) const { return first + i * step; }
};

Axis axis_of(const ConvGeometry& conv, std::size_t axis, std::int64_t output, std::int64_t length) {
  const std::int64_t step = conv.filter[axis] == 1 ? conv.stride[axis] : 1;
  const std::int64_t first = output * conv.stride[axis] - conv.pad_lo[axis];
  const std::int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
  const std::int64_t size = conv.input.len[axis + 2];
  const std::int64_t past = first < size ? (size - first + step - 1) / step : 0;
  const std::int64_t end = std::min(length, past);
  return {first, step, std::min(begin, end), end};
}

class Stager {
 public:
  Stager(const DirectPlan& plan, const Moves& moves, const void* input, const Block& block,
         float* scratch)
      : plan_(plan),
        view_(plan.shape.conv.input),
        moves_(moves),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.input))),
        scratch_(scratch),
        columns_(axis_of(plan.shape.conv, 2, block.column, plan.stage.columns)) {
    const ConvGeometry& conv = plan.shape.conv;
    input_ = static_cast<const std::byte*>(input) +
             (block.image * view_.stride[0] + block.group * conv.group_inputs * view_.stride[1]) *
                 bytes_;
    const Axis planes = axis_of(conv, 0, block.plane, plan.stage.planes);
    const Axis rows = axis_of(conv, 1, block.row, plan.stage.rows);
    for (std::int64_t plane = planes.begin; plane < planes.end; ++plane)
      for (std::int64_t row = rows.begin; row < rows.end; ++row)
        copy_row(planes.index(plane) * view_.stride[2] + rows.index(row) * view_.stride[3] +
                     columns_.index(columns_.begin) * view_.stride[4],
                 plane * plan.stage.plane_stride + row * plan.stage.row_stride +
                     columns_.begin * plan.stage.column_stride);
  }

 private:
  void copy_row(std::int64_t from, std::int64_t to) const {
    const std::int64_t columns = columns_.end - columns_.begin;
    const std::int64_t channels = plan_.shape.conv.group_inputs;
    const std::int64_t column_step = columns_.step * view_.stride[4];
    const bool by_pixel = plan_.stage.channels_last;
    const std::int64_t lines = by_pixel ? columns : channels;
    const std::int64_t length = by_pixel ? channels : columns;
    const std::int64_t stride = by_pixel ? view_.stride[1] : column_step;
    const std::int64_t from_step = by_pixel ? column_step : view_.stride[1];
    const std::int64_t to_step = by_pixel ? plan_.stage.column_stride : plan_.stage.channel_stride;
    for (std::int64_t line = 0; line < lines; ++line)
      moves_.widen(input_ + (from + line * from_step) * bytes_, stride,
                   scratch_ + to + line * to_step, length);
  }

  const DirectPlan& plan_;
  const View& view_;
  const Moves& moves_;
  std::int64_t bytes_;
  float* scratch_;
  Axis columns_;
  const std::byte* input_;
};

}  // namespace

InputMap InputMap::of_tensor(const DirectPlan& plan, const void* input, const Block& block) {
  const ConvGeometry& conv = plan.shape.conv;
  std::int64_t offset =
      block.image * conv.input.stride[0] + block.group * conv.group_inputs * conv.input.stride[1];
  for (std::size_t axis = 0; axis < 3; ++axis)
    offset -= conv.pad_lo[axis] * conv.input.stride[axis + 2];
  return {plan.steps, reinterpret_cast<std::int64_t>(input) +
                          offset * static_cast<std::int64_t>(sizeof(float))};
}

InputMap InputMap::of_stage(const DirectPlan& plan, const Moves& moves, const void* input,
                            const Block& block, float* scratch) {
  Stager(plan, moves, input, block, scratch);
  const auto& step = plan.steps.output;
  return {plan.steps, reinterpret_cast<std::int64_t>(scratch) - block.plane * step[0] -
                          block.row * step[1] - block.column * step[2]};
}

}  // namespace fuseplan::cpu
