// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/block.hpp"

#include <algorithm>

#include "kernels/cpu/direct/stage_pairs.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

/// The rows of a block that exist, of one group.
class BlockRows {
 public:
  BlockRows(const DirectPlan& plan, const void* input, const Block& block, std::byte* scratch)
      : plan_(plan),
        conv_(plan.source),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.input))),
        group_(static_cast<const std::byte*>(input) +
               (block.image * conv_.input.stride[0] +
                block.group * conv_.group_inputs * conv_.input.stride[1]) *
                   bytes_),
        scratch_(scratch),
        planes_(staged_axis(conv_, 0, block.plane, 1)),
        rows_(staged_axis(conv_, 1, block.row, plan.block_rows)),
        columns_(staged_axis(conv_, 2, block.column, plan.block_columns)) {}

  std::int64_t columns() const { return columns_.end - columns_.begin; }
  std::int64_t column_step() const { return columns_.step * conv_.input.stride[4]; }

  template <typename F>
  void for_each(const F& body) const {
    for (std::int64_t plane = planes_.begin; plane < planes_.end; ++plane)
      for (std::int64_t row = rows_.begin; row < rows_.end; ++row)
        body(StagedRow{
            .from = group_ + (planes_.index(plane) * conv_.input.stride[2] +
                              rows_.index(row) * conv_.input.stride[3] +
                              columns_.index(columns_.begin) * conv_.input.stride[4]) *
                                 bytes_,
            .to = scratch_ + (plane * plan_.stage.plane_stride + row * plan_.stage.row_stride) *
                                 plan_.stage.element_bytes,
            .columns = columns_});
  }

 private:
  const DirectPlan& plan_;
  const ConvGeometry& conv_;
  std::int64_t bytes_;
  const std::byte* group_;
  std::byte* scratch_;
  StagedAxis planes_, rows_, columns_;
};

float* first_float(const DirectPlan& plan, const StagedRow& row) {
  return reinterpret_cast<float*>(row.to) + row.columns.begin * plan.stage.column_stride;
}

/// Pixel by pixel.
void widen_pixels(const DirectPlan& plan, const Moves& moves, const BlockRows& rows) {
  const View& view = plan.source.input;
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  const std::int64_t channels = plan.source.group_inputs, step = rows.column_step();
  // Pixels of few channels that follow each other in both places are one line.
  const bool together =
      view.stride[1] == 1 && step == channels && plan.stage.column_stride == channels;
  const std::int64_t lines = together ? 1 : rows.columns();
  const std::int64_t length = together ? rows.columns() * channels : channels;
  rows.for_each([&](const StagedRow& row) {
    float* to = first_float(plan, row);
    for (std::int64_t line = 0; line < lines; ++line)
      moves.widen(row.from + line * step * bytes, view.stride[1],
                  to + line * plan.stage.column_stride, length);
  });
}

/// Plane by plane: the rows of one are near each other.
void widen_planes(const DirectPlan& plan, const Moves& moves, const BlockRows& rows) {
  const auto bytes = static_cast<std::int64_t>(size_of(plan.shape.input));
  const std::int64_t plane = plan.source.input.stride[1];
  const RowsAhead ahead(rows.column_step(), plane, bytes);
  for (std::int64_t c = 0; c < plan.source.group_inputs; ++c)
    rows.for_each([&](const StagedRow& row) {
      const std::byte* from = row.from + c * plane * bytes;
      if (c + kPlanesAhead < plan.source.group_inputs)
        ahead.ask(from + kPlanesAhead * plane * bytes, rows.columns());
      moves.widen(from, rows.column_step(), first_float(plan, row) + c * plan.stage.channel_stride,
                  rows.columns());
    });
}

void stage_block(const DirectPlan& plan, const Moves& moves, const BlockRows& rows) {
  if (plan.config.pairs)
    return rows.for_each([&](const StagedRow& row) { stage_pairs(plan, row); });
  plan.stage.channels_last ? widen_pixels(plan, moves, rows) : widen_planes(plan, moves, rows);
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
  stage_block(plan, moves, BlockRows(plan, input, block, scratch));
  const auto& step = plan.steps.output;
  return {plan.steps, reinterpret_cast<std::int64_t>(scratch) - block.plane * step[0] -
                          block.row * step[1] - block.column * step[2]};
}

}  // namespace fuseplan::cpu
