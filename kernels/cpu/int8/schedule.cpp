// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/schedule.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/parts.hpp"

namespace fuseplan::cpu {

ByteSchedule::ByteSchedule(const BytePlan& plan, int threads) : plan_(plan) {
  const ConvGeometry& conv = plan.shape.conv;
  planes_ = conv.output.len[0] * conv.groups * conv.output.len[2];
  column_windows_ = ceil_div(static_cast<std::int64_t>(plan.row_tiles.size()),
                             static_cast<std::int64_t>(plan.block_tiles));
  std::int64_t bands = plan.block_bands;
  cut_rows(bands);
  parts_ = parts_worth(conv, 8e6, threads);
  while (parts_ > 1 && bands > 1 && units() < kUnitsPerPart * parts_) {
    bands = ceil_div(bands, 2);
    cut_rows(bands);
  }
}

void ByteSchedule::cut_rows(std::int64_t bands) {
  const std::int64_t all = ceil_div(plan_.shape.conv.output.len[3], plan_.tile_rows);
  rows_ = ceil_div(all, ceil_div(all, bands)) * plan_.tile_rows;
  row_windows_ = ceil_div(plan_.shape.conv.output.len[3], rows_);
}

ByteWindow ByteSchedule::window(std::int64_t unit) const {
  Digits index(unit / plan_.tiles_of_channels);
  const ConvGeometry& conv = plan_.shape.conv;
  ByteWindow window;
  window.first_tile = static_cast<std::size_t>(index.take(column_windows_)) * plan_.block_tiles;
  window.last_tile = std::min(window.first_tile + plan_.block_tiles, plan_.row_tiles.size());
  const ByteRowTile& last = plan_.row_tiles[window.last_tile - 1];
  window.column = plan_.row_tiles[window.first_tile].column;
  window.columns = last.column + last.pixels - window.column;
  window.row = index.take(row_windows_) * rows_;
  window.rows = std::min(rows_, conv.output.len[3] - window.row);
  window.plane = index.take(conv.output.len[2]);
  window.group = index.take(conv.groups);
  window.image = index.rest();
  return window;
}

}  // namespace fuseplan::cpu
