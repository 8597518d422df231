// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/stage.hpp"

#include <algorithm>

#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {
std::size_t stage_bytes(const BytePlan& plan) {
  constexpr std::int64_t kLane = 64;
  return static_cast<std::size_t>(plan.stage.elements() * plan.dot.element() + kLane);
}

void stage_window(const BytePlan& plan, const ByteMoves& moves, const void* input,
                  const ByteWindow& window, std::byte* scratch) {
  const ConvGeometry& conv = plan.shape.conv;
  const auto& stride = conv.input.stride;
  const ByteStage& stage = plan.stage;
  const std::int64_t element = plan.dot.element();
  const std::uint8_t* image = static_cast<const std::uint8_t*>(input) + window.image * stride[0] +
                              window.group * conv.group_inputs * stride[1];
  const StagedAxis planes = staged_axis(conv, 0, window.plane, 1);
  const StagedAxis rows = staged_axis(conv, 1, window.row, window.rows);
  const StagedAxis columns = staged_axis(conv, 2, window.column, window.columns);
  PixelBlock block{columns.end - columns.begin, conv.group_inputs, columns.step * stride[4],
                   stride[1]};
  const PixelTurn copy = stride[1] == 1 ? moves.copy : moves.turn;
  for (std::int64_t d = 0; d < planes.length; ++d)
    for (std::int64_t h = 0; h < rows.length; ++h) {
      std::byte* to = scratch + (d * stage.plane_step + h * stage.row_step) * element;
      const bool inside = planes.begin <= d && d < planes.end && rows.begin <= h && h < rows.end;
      const std::int64_t begin = inside ? columns.begin : columns.length;
      moves.fill(to, begin * stage.column_step);
      if (!inside) continue;
      block.ahead = h + 1 < rows.end ? rows.step * stride[3] : 0;
      copy(image + planes.index(d) * stride[2] + rows.index(h) * stride[3] +
               columns.index(begin) * stride[4],
           block, to + begin * stage.column_step * element, stage.column_step);
      moves.fill(to + columns.end * stage.column_step * element,
                 (columns.length - columns.end) * stage.column_step);
    }
}

}  // namespace fuseplan::cpu
