// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/schedule.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/parallel.hpp"

namespace fuseplan::cpu {
namespace {
constexpr std::int64_t kFloat = sizeof(float);
}  // namespace

Schedule::Schedule(const DirectPlan& plan, int threads, bool weights_are_raw) : plan_(plan) {
  const ConvGeometry& conv = plan.shape.conv;
  planes_ = conv.output.len[0] * conv.groups * conv.output.len[2];
  column_blocks_ = ceil_div(static_cast<std::int64_t>(plan.tiling.strips.size()),
                            static_cast<std::int64_t>(plan.block_strips));
  if (groups_share_lines()) groups_in_turn_ = conv.groups;
  cut_rows(weights_are_raw ? conv.output.len[3] : rows_of_turn());
  parts_ = parts_worth(conv, 2e6, threads);
  whole_units_ = plan.staged || weights_are_raw;
  if (weights_are_raw) return;
  tiles_first_ = reads_less_tiles_first();
  if (parts_ == 1 || !whole_units_) return;
  while (rows_ > 1 &&
         planes_ * blocks_per_plane() * plan.tiles_of_channels < kUnitsPerPart * parts_)
    cut_rows((rows_ + 1) / 2);
}

void Schedule::cut_rows(std::int64_t rows) {
  const std::int64_t height = plan_.shape.conv.output.len[3];
  row_blocks_ = ceil_div(height, rows);
  rows_ = ceil_div(height, row_blocks_);
}

// What the second-level cache does not keep comes from behind it: the weights once a block, or the
// input once a tile. Weights are asked for in time, of the input hardware has to guess the next.
bool Schedule::reads_less_tiles_first() const {
  constexpr std::int64_t kGuessed = 2;
  const ConvGeometry& conv = plan_.shape.conv;
  if (plan_.staged || conv.input.stride[1] != 1 || conv.groups > 1) return false;
  const std::int64_t input =
      conv.input.elements() * static_cast<std::int64_t>(size_of(plan_.shape.input));
  const std::int64_t weights = plan_.weight_offset(plan_.tiles_of_channels) * kFloat;
  return weights > kKeptWeightBytes &&
         kGuessed * input * plan_.tiles_of_channels < weights * blocks();
}

// Where a pixel's channels are neighbours, groups read and write what lies between one another's:
// hardware foresees the whole better than its parts. All groups' weights stay near meanwhile.
bool Schedule::groups_share_lines() const {
  constexpr std::int64_t kNear = 256 << 10;
  const ConvGeometry& conv = plan_.shape.conv;
  const std::int64_t weights = conv.groups * plan_.weight_offset(plan_.tiles_of_channels) * kFloat;
  return conv.input.stride[1] == 1 && conv.output.stride[1] == 1 && weights <= kNear;
}

// Rows whose channels of all groups in turn a second-level cache holds.
std::int64_t Schedule::rows_of_turn() const {
  constexpr std::int64_t kHeld = 1 << 20;
  const ConvGeometry& conv = plan_.shape.conv;
  if (groups_in_turn_ == 1) return plan_.block_rows;
  const std::int64_t row = conv.stride[1] * conv.input.len[4] * conv.input.len[1] * kFloat;
  return std::clamp<std::int64_t>(kHeld / row, 1, plan_.block_rows);
}

std::int64_t Schedule::vectors() const {
  return (plan_.tiles_of_channels - 1) * plan_.config.vectors + plan_.tail_vectors;
}

Block Schedule::block_of_turn(std::int64_t index) const {
  index /= groups_in_turn_;
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
  const std::int64_t index = tiles_first_ ? unit % blocks() : unit / plan_.tiles_of_channels;
  Block block = block_of_turn(index % blocks_in_turn());
  Digits digits(index / blocks_in_turn());
  block.plane = digits.take(plan_.shape.conv.output.len[2]);
  block.group = digits.take(plan_.shape.conv.groups / groups_in_turn_) + index % groups_in_turn_;
  block.image = digits.rest();
  return block;
}

Place Schedule::end_of(std::int64_t work, std::int64_t per_pixel) const {
  const View& output = plan_.shape.conv.output;
  return place_of(work, blocks_in_turn(),
                  groups_in_turn_ * output.len[3] * output.len[4] * per_pixel, [&](std::int64_t i) {
                    const Block block = block_of_turn(i);
                    return block.rows * block.columns * per_pixel;
                  });
}

Place Schedule::at(std::int64_t unit, std::int64_t row) const {
  if (row == 0) return {unit, 0};
  const std::int64_t rows = block(unit).rows;
  if (whole_units_) row = 2 * row < rows ? 0 : rows;
  return row < rows ? Place{unit, row} : Place{unit + 1, 0};
}

// At the row nearest to the part's share of all work, in pixels x vectors.
Place Schedule::start(int part) const {
  const View& output = plan_.shape.conv.output;
  const std::int64_t pixels = planes_ * output.len[3] * output.len[4];
  const std::int64_t target = pixels * vectors() * part / parts_;
  const auto nearest = [](std::int64_t work, std::int64_t per_row) {
    return (work + per_row / 2) / per_row;
  };
  if (tiles_first_) {
    const std::int64_t full = pixels * plan_.config.vectors;
    const std::int64_t tile = std::min(target / full, plan_.tiles_of_channels - 1);
    const std::int64_t per_pixel = plan_.vectors_of(tile);
    const Place place = end_of(target - tile * full, per_pixel);
    if (place.done == 0) return {tile * blocks() + place.block, 0};
    const Block block = block_of_turn(place.block % blocks_in_turn());
    return at(tile * blocks() + place.block, nearest(place.done, block.columns * per_pixel));
  }
  const Place place = end_of(target, vectors());
  const Block block = block_of_turn(place.block % blocks_in_turn());
  const std::int64_t full = block.rows * block.columns * plan_.config.vectors;
  const std::int64_t tile = std::min(place.done / full, plan_.tiles_of_channels - 1);
  return at(place.block * plan_.tiles_of_channels + tile,
            nearest(place.done - tile * full, block.columns * plan_.vectors_of(tile)));
}

}  // namespace fuseplan::cpu
