// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/schedule.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/parallel.hpp"

namespace fuseplan::cpu {

Schedule::Schedule(const DirectPlan& plan, int threads, bool weights_are_raw) : plan_(plan) {
  const ConvGeometry& conv = plan.shape.conv;
  planes_ = conv.output.len[0] * conv.groups * conv.output.len[2];
  column_blocks_ = ceil_div(static_cast<std::int64_t>(plan.tiling.strips.size()),
                            static_cast<std::int64_t>(plan.block_strips));
  cut_rows(weights_are_raw ? conv.output.len[3] : plan.block_rows);
  // Waking a thread costs some microseconds, in which one of them does a million multiply-adds.
  constexpr double kFlopsPerPart = 2e6;
  parts_ = static_cast<int>(std::clamp(conv.flops() / kFlopsPerPart, 1.0, double(threads)));
  if (parts_ == 1 || weights_are_raw) return;
  // A few units per part, or they cannot be dealt evenly.
  constexpr std::int64_t kUnitsPerPart = 4;
  while (rows_ > 1 &&
         planes_ * blocks_per_plane() * plan.tiles_of_channels < kUnitsPerPart * parts_)
    cut_rows((rows_ + 1) / 2);
}

void Schedule::cut_rows(std::int64_t rows) {
  const std::int64_t height = plan_.shape.conv.output.len[3];
  row_blocks_ = ceil_div(height, rows);
  rows_ = ceil_div(height, row_blocks_);
}

std::int64_t Schedule::vectors() const {
  return (plan_.tiles_of_channels - 1) * plan_.config.vectors + plan_.tail_vectors;
}

Block Schedule::block_of_plane(std::int64_t index) const {
  const auto& strips = plan_.tiling.strips;
  const Range rows = split(plan_.shape.conv.output.len[3], static_cast<int>(row_blocks_),
                           static_cast<int>(index / column_blocks_));
  Block block;
  block.row = rows.first;
  block.rows = rows.last - rows.first;
  block.strip = static_cast<std::size_t>(index % column_blocks_) * plan_.block_strips;
  block.strips = std::min(plan_.block_strips, strips.size() - block.strip);
  const Strip& last = strips[block.strip + block.strips - 1];
  block.column = strips[block.strip].column;
  block.columns = last.column + last.width - block.column;
  return block;
}

Block Schedule::block(std::int64_t unit) const {
  const std::int64_t index = unit / plan_.tiles_of_channels;
  Block block = block_of_plane(index % blocks_per_plane());
  std::int64_t plane = index / blocks_per_plane();
  block.plane = plane % plan_.shape.conv.output.len[2];
  plane /= plan_.shape.conv.output.len[2];
  block.group = plane % plan_.shape.conv.groups;
  block.image = plane / plan_.shape.conv.groups;
  return block;
}

// The first unit that starts at or after the part's share of all work, in pixels x vectors.
std::int64_t Schedule::first(int part) const {
  const View& output = plan_.shape.conv.output;
  const std::int64_t per_plane = output.len[3] * output.len[4] * vectors();
  const std::int64_t target = planes_ * per_plane * part / parts_;
  std::int64_t unit = target / per_plane * blocks_per_plane() * plan_.tiles_of_channels;
  std::int64_t left = target % per_plane;
  for (std::int64_t i = 0; left > 0; ++i) {
    const Block block = block_of_plane(i);
    const std::int64_t pixels = block.rows * block.columns;
    if (left < pixels * vectors())
      return unit +
             std::min(ceil_div(left, pixels * plan_.config.vectors), plan_.tiles_of_channels);
    left -= pixels * vectors();
    unit += plan_.tiles_of_channels;
  }
  return unit;
}

}  // namespace fuseplan::cpu
