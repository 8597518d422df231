// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/stage_pairs.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/pixel_pairs.hpp"
#include "kernels/cpu/pixel_turn.hpp"

namespace fuseplan::cpu {
namespace {

using Half = std::uint16_t;

/// [column][channel] as it is used by joined plans and by those whose channels are contiguous.
void stage_pixels(const DirectPlan& plan, const StagedRow& row) {
  const View& view = plan.source.input;
  const std::int64_t channels = plan.source.group_inputs, step = plan.stage.column_stride;
  const std::int64_t columns = row.columns.end - row.columns.begin;
  const std::int64_t column_step = row.columns.step * view.stride[4];
  const Half* from = reinterpret_cast<const Half*>(row.from);
  Half* to = reinterpret_cast<Half*>(row.to) + row.columns.begin * step;
  const auto copy = [](Half* output, const Half* input, std::int64_t count) {
    std::memcpy(output, input, static_cast<std::size_t>(count) * sizeof(Half));
  };
  if (view.stride[1] == 1 && column_step == channels && step == channels) {
    copy(to, from, columns * channels);
  } else if (view.stride[1] == 1) {
    for (std::int64_t column = 0; column < columns; ++column)
      copy(to + column * step, from + column * column_step, channels);
  } else {
    pixel_turn_for<PlainHalf>(Isa::avx512)(from, {columns, channels, column_step, view.stride[1]},
                                           to, step);
  }
}

void clear_padding(const DirectPlan& plan, const StagedRow& row) {
  Half* to = reinterpret_cast<Half*>(row.to);
  const std::int64_t step = plan.stage.column_stride;
  std::fill(to, to + row.columns.begin * step, Half{0});
  std::fill(to + row.columns.end * step, to + plan.stage.columns * step, Half{0});
}

/// [pair of channels][column]
void stage_rows(const DirectPlan& plan, const StagedRow& row) {
  const View& view = plan.source.input;
  const std::int64_t channels = plan.source.group_inputs;
  const std::int64_t columns = row.columns.end - row.columns.begin;
  for (std::int64_t channel = 0; channel < channels; channel += 2) {
    const Half* even = reinterpret_cast<const Half*>(row.from) + channel * view.stride[1];
    pair_halves(even, channel + 1 < channels ? even + view.stride[1] : nullptr,
                row.columns.step * view.stride[4],
                reinterpret_cast<std::uint32_t*>(row.to) + channel / 2 * plan.stage.channel_stride +
                    row.columns.begin,
                columns);
  }
}

}  // namespace

void stage_pairs(const DirectPlan& plan, const StagedRow& row) {
  if (!plan.stage.channels_last) return stage_rows(plan, row);
  if (plan.joined) clear_padding(plan, row);
  stage_pixels(plan, row);
}

}  // namespace fuseplan::cpu
