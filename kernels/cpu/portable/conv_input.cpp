// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/conv_input.hpp"

#include <algorithm>

#include "kernels/cpu/portable/block_io.hpp"
#include "kernels/cpu/portable/conv_tile.hpp"

namespace fuseplan::cpu {
namespace {

// Input positions [first, end) of an axis that outputs [first_out, end_out) read.
struct Span {
  std::int64_t first, end;
  std::int64_t length() const { return end - first; }
};
Span inputs_of(const ConvGeometry& g, std::size_t axis, std::int64_t first_out,
               std::int64_t end_out) {
  const std::int64_t first = first_out * g.stride[axis] - g.pad_lo[axis];
  const std::int64_t last =
      (end_out - 1) * g.stride[axis] - g.pad_lo[axis] + (g.filter[axis] - 1) * g.dilation[axis];
  const std::int64_t length = g.input.len[axis + 2];
  const std::int64_t low = std::clamp<std::int64_t>(first, 0, length);
  return {low, std::max(low, std::min(last + 1, length))};
}

}  // namespace

struct ConvInput::Box {
  Span rows, columns;
  TapSpan depth_taps;
  std::int64_t first_depth;
};

ConvInput::Box ConvInput::box_of(const OutputCell& cell) const {
  return {inputs_of(g_, 1, cell.first_row, cell.end_row),
          inputs_of(g_, 2, cell.first_column, cell.end_column), taps_inside(g_, 0, cell.depth),
          cell.depth * g_.stride[0] - g_.pad_lo[0]};
}

std::int64_t ConvInput::copy_floats_of(const ConvGeometry& g, std::int64_t rows,
                                       std::int64_t columns) {
  const auto reach = [&](std::size_t axis, std::int64_t outputs) {
    return std::min(g.input.len[axis + 2],
                    (outputs - 1) * g.stride[axis] + (g.filter[axis] - 1) * g.dilation[axis] + 1);
  };
  const std::int64_t channels = is_lanewise(g) ? kTileChannels : g.group_inputs;
  return g.filter[0] * reach(1, rows) * reach(2, columns) * channels;
}

ConvInput::ConvInput(const ConvGeometry& g, DType dtype, const void* data, std::int64_t copy_floats,
                     Scratch& scratch)
    : g_(g), dtype_(dtype), data_(data) {
  if (dtype != DType::f32 || is_lanewise(g))
    copy_ = scratch.take_array<float>(static_cast<std::size_t>(copy_floats));
}

const void* ConvInput::at(std::int64_t image, std::int64_t channel, std::int64_t depth,
                          std::int64_t row, std::int64_t column) const {
  const auto& s = g_.input.stride;
  const std::int64_t offset =
      image * s[0] + channel * s[1] + depth * s[2] + row * s[3] + column * s[4];
  return static_cast<const std::byte*>(data_) + offset * static_cast<std::int64_t>(size_of(dtype_));
}

void ConvInput::select(const OutputCell& cell, std::int64_t channel) {
  const bool lanewise = is_lanewise(g_);
  const std::int64_t first = lanewise ? channel : channel / g_.group_outputs * g_.group_inputs;
  if (held_channel_ == first && held_cell_ == cell) return;
  held_channel_ = first;
  held_cell_ = cell;
  if (lanewise) {
    spread(cell, channel);
  } else if (dtype_ == DType::f32) {
    point_at(cell, first);
  } else {
    widen(cell, first);
  }
}

void ConvInput::point_at(const OutputCell& cell, std::int64_t first_channel) {
  const auto& s = g_.input.stride;
  const Box box = box_of(cell);
  // Taps in front of the image are never read; their address only has to be computed.
  const std::int64_t depth_offset = box.first_depth * s[2];
  base_ = static_cast<const float*>(at(cell.image, first_channel, 0, 0, 0)) + depth_offset;
  first_row_ = first_column_ = 0;
  plane_step_ = g_.dilation[0] * s[2];
  row_step_ = s[3];
  column_step_ = s[4];
  channel_step_ = s[1];
}

void ConvInput::widen(const OutputCell& cell, std::int64_t first_channel) {
  const auto& s = g_.input.stride;
  const Box box = box_of(cell);
  const bool channels_last = s[1] <= s[4];
  const std::int64_t columns = box.columns.length(), channels = g_.group_inputs;
  const BlockShape shape = channels_last
                               ? BlockShape{static_cast<int>(columns), static_cast<int>(channels),
                                            static_cast<int>(channels)}
                               : BlockShape{static_cast<int>(channels), static_cast<int>(columns),
                                            static_cast<int>(columns)};
  const BlockSteps steps = channels_last ? BlockSteps{s[4], s[1]} : BlockSteps{s[1], s[4]};
  base_ = copy_;
  first_row_ = box.rows.first;
  first_column_ = box.columns.first;
  row_step_ = columns * channels;
  plane_step_ = box.rows.length() * row_step_;
  column_step_ = channels_last ? channels : 1;
  channel_step_ = channels_last ? 1 : columns;
  for (int tap = box.depth_taps.first; tap < box.depth_taps.end; ++tap)
    for (std::int64_t row = box.rows.first; row < box.rows.end; ++row)
      load_block(dtype_,
                 at(cell.image, first_channel, box.first_depth + tap * g_.dilation[0], row,
                    box.columns.first),
                 steps, shape, copy_ + tap * plane_step_ + (row - first_row_) * row_step_);
}

void ConvInput::spread(const OutputCell& cell, std::int64_t channel) {
  const auto& s = g_.input.stride;
  const Box box = box_of(cell);
  const std::int64_t channels = std::min<std::int64_t>(kTileChannels, g_.output.len[1] - channel);
  const bool one_to_one = g_.group_outputs == 1;
  const int runs = one_to_one ? 1 : static_cast<int>(channels);
  const BlockShape shape{static_cast<int>(box.columns.length()),
                         one_to_one ? static_cast<int>(channels) : 1, kTileChannels};
  base_ = copy_;
  first_row_ = box.rows.first;
  first_column_ = box.columns.first;
  column_step_ = kTileChannels;
  row_step_ = box.columns.length() * kTileChannels;
  plane_step_ = box.rows.length() * row_step_;
  channel_step_ = 0;
  for (int tap = box.depth_taps.first; tap < box.depth_taps.end; ++tap)
    for (std::int64_t row = box.rows.first; row < box.rows.end; ++row)
      for (int run = 0; run < runs; ++run)
        load_block(dtype_,
                   at(cell.image, (channel + run) / g_.group_outputs,
                      box.first_depth + tap * g_.dilation[0], row, box.columns.first),
                   {s[4], s[1]}, shape,
                   copy_ + tap * plane_step_ + (row - first_row_) * row_step_ + run);
}

}  // namespace fuseplan::cpu
