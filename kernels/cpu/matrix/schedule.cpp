// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/schedule.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/parallel.hpp"
#include "kernels/cpu/parts.hpp"

namespace fuseplan::cpu {

MatrixSchedule::MatrixSchedule(const MatrixPlan& plan, int threads, bool weights_are_raw)
    : plan_(plan) {
  const ConvGeometry& conv = plan.shape.conv;
  if (weights_stay(plan.shape, plan.product)) groups_together_ = conv.groups;
  cut(plan.block_rows, plan.block_columns);
  cut_images(plan.block_images);
  const auto products = static_cast<double>(traits_of(plan.product).pairs.size());
  parts_ = parts_worth(conv, 1.2e7 / products, threads);
  if (weights_are_raw) return;
  while (parts_ > 1 && units() < kUnitsPerPart * parts_) {
    if (images_ > 1)
      cut_images(ceil_div(images_, 2));
    else if (rows_ > 1)
      cut(ceil_div(rows_, 2), columns_);
    else if (columns_ > plan_.grid.rows())
      cut(rows_, round_up(ceil_div(columns_, 2), plan_.grid.rows()));
    else
      break;
  }
  if (parts_ > 1) avoid_shared_windows();
}

// Each of the parts that share a window stages it. Where it costs little to read the weights for
// one window more, a few large windows become as many as can be dealt without.
void MatrixSchedule::avoid_shared_windows() {
  constexpr std::int64_t kFewWindows = 4, kManyStrips = 8;
  const View& output = plan_.shape.conv.output;
  const bool is_near = weights_stay(plan_.shape, plan_.product);
  if (!plan_.config.staged || plan_.config.by_plane || !is_near) return;
  if (windows() % parts_ == 0 || windows() >= kFewWindows * parts_) return;
  const auto dealt = [&](std::int64_t windows) { return round_up(windows, std::int64_t{parts_}); };
  if (output.len[3] >= kManyStrips * parts_)
    cut(ceil_div(output.len[3], dealt(row_windows_)), columns_);
  else if (output.len[3] == 1 && strips() >= kManyStrips * parts_)
    cut(rows_, ceil_div(strips(), dealt(column_windows_)) * plan_.grid.rows());
}

void MatrixSchedule::cut(std::int64_t rows, std::int64_t columns) {
  const View& output = plan_.shape.conv.output;
  row_windows_ = ceil_div(output.len[3], rows);
  rows_ = ceil_div(output.len[3], row_windows_);
  column_windows_ = ceil_div(output.len[4], columns);
  columns_ = std::min(columns, ceil_div(strips(), column_windows_) * plan_.grid.rows());
}

void MatrixSchedule::cut_images(std::int64_t images) {
  images_ = images;
  image_windows_ = images > 1 ? ceil_div(plan_.shape.conv.output.len[0], images) : 1;
}

std::int64_t MatrixSchedule::planes() const {
  const ConvGeometry& conv = plan_.shape.conv;
  return (images_ > 1 ? 1 : conv.output.len[0]) * (conv.groups / groups_together_) *
         conv.output.len[2];
}

std::int64_t MatrixSchedule::strips() const {
  return ceil_div(plan_.shape.conv.output.len[4], std::int64_t{plan_.grid.rows()});
}

// Windows' images, rows, and strips of columns, differ by one at most.
MatrixWindow MatrixSchedule::window_of_plane(std::int64_t at) const {
  const View& output = plan_.shape.conv.output;
  Digits index(at);
  const auto part_of = [](std::int64_t all, std::int64_t windows, std::int64_t window) {
    return split(all, static_cast<int>(windows), static_cast<int>(window));
  };
  const Range columns = part_of(strips(), column_windows_, index.take(column_windows_));
  const Range rows = part_of(output.len[3], row_windows_, index.take(row_windows_));
  MatrixWindow window;
  if (images_ > 1) {
    const Range images = part_of(output.len[0], image_windows_, index.rest());
    window.image = images.first;
    window.images = images.last - images.first;
  }
  window.row = rows.first;
  window.rows = rows.last - rows.first;
  window.column = columns.first * plan_.grid.rows();
  window.columns = std::min(columns.last * plan_.grid.rows(), output.len[4]) - window.column;
  return window;
}

MatrixWindow MatrixSchedule::window(std::int64_t unit) const {
  Digits index(unit / plan_.tiles_of_channels);
  const std::int64_t group = index.take(groups_together_);
  MatrixWindow window = window_of_plane(index.take(windows_per_plane()));
  window.plane = index.take(plan_.shape.conv.output.len[2]);
  window.group = group + index.take(plan_.shape.conv.groups / groups_together_);
  window.image += index.rest();
  return window;
}

// The unit whose begin is nearest to the end of the work of the parts before, in tiles of sums.
std::int64_t MatrixSchedule::first(int part) const {
  if (part == 0) return 0;
  if (part == parts_) return units();
  const auto work_of = [&](std::int64_t index) {
    const MatrixWindow window = window_of_plane(index);
    return window.images * plan_.tiles(window.rows, window.columns) * plan_.group_vectors();
  };
  const auto together = [&](std::int64_t index) { return groups_together_ * work_of(index); };
  std::int64_t per_plane = 0;
  for (std::int64_t i = 0; i < windows_per_plane(); ++i) per_plane += together(i);
  const Place place =
      place_of(planes() * per_plane * part / parts_, windows_per_plane(), per_plane, together);
  const std::int64_t work = work_of(place.block % windows_per_plane());
  const std::int64_t window = place.block * groups_together_ + place.done / work;
  const std::int64_t vectors = place.done % work * plan_.group_vectors() / work;
  const std::int64_t tiles = (vectors + plan_.grid.channels / 2) / plan_.grid.channels;
  return window * plan_.tiles_of_channels + std::min(tiles, plan_.tiles_of_channels);
}

}  // namespace fuseplan::cpu
