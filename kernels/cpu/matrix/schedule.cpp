// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/schedule.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/parts.hpp"

namespace fuseplan::cpu {

MatrixSchedule::MatrixSchedule(const MatrixPlan& plan, int threads, bool weights_are_raw)
    : plan_(plan) {
  const ConvGeometry& conv = plan.shape.conv;
  planes_ = conv.output.len[0] * conv.groups * conv.output.len[2];
  cut(plan.block_rows, plan.block_columns);
  const auto products = static_cast<double>(traits_of(plan.product).pairs.size());
  parts_ = parts_worth(conv, 1.2e7 / products, threads);
  if (weights_are_raw) return;
  while (parts_ > 1 && units() < kUnitsPerPart * parts_) {
    if (rows_ > 1)
      cut(ceil_div(rows_, 2), columns_);
    else if (columns_ > plan_.grid.rows())
      cut(rows_, round_up(ceil_div(columns_, 2), plan_.grid.rows()));
    else
      return;
  }
}

void MatrixSchedule::cut(std::int64_t rows, std::int64_t columns) {
  const View& output = plan_.shape.conv.output;
  rows_ = ceil_div(output.len[3], ceil_div(output.len[3], rows));
  row_windows_ = ceil_div(output.len[3], rows_);
  const std::int64_t equal = ceil_div(output.len[4], ceil_div(output.len[4], columns));
  columns_ = std::min(columns, round_up(equal, plan_.grid.rows()));
  column_windows_ = ceil_div(output.len[4], columns_);
}

MatrixWindow MatrixSchedule::window(std::int64_t unit) const {
  Digits index(unit / plan_.tiles_of_channels);
  const ConvGeometry& conv = plan_.shape.conv;
  MatrixWindow window;
  window.column = index.take(column_windows_) * columns_;
  window.columns = std::min(columns_, conv.output.len[4] - window.column);
  window.row = index.take(row_windows_) * rows_;
  window.rows = std::min(rows_, conv.output.len[3] - window.row);
  window.plane = index.take(conv.output.len[2]);
  window.group = index.take(conv.groups);
  window.image = index.rest();
  return window;
}

}  // namespace fuseplan::cpu
