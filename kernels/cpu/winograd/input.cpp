// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/input.hpp"

#include <algorithm>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

/// Columns of so many tiles beside each other, of whole runs.
std::int64_t columns_of(const WinogradPlan& plan, std::int64_t tiles) {
  const Axis& axis = *plan.columns;
  return (tiles * axis.outputs - 1) * axis.stride + (axis.taps - 1) * plan.column_spread.dilation +
         1;
}

// Columns of a staged row: those of a segment's tiles, rounded up to the widest square.
std::int64_t staged_columns(const WinogradPlan& plan) {
  constexpr std::int64_t kSquare = 16;
  return round_up(columns_of(plan, plan.segment_tiles()), kSquare);
}

}  // namespace

InputTransform::Inside InputTransform::inside(std::int64_t first, std::int64_t step,
                                              std::int64_t count, std::int64_t length) {
  const auto below = [&](std::int64_t bound) {
    return std::min(count, ceil_div(std::max<std::int64_t>(0, bound - first), step));
  };
  return {below(0), below(length)};
}

InputTransform::InputTransform(const WinogradPlan& plan, Kernel kernel, const void* input,
                               Scratch& scratch)
    : plan_(plan),
      view_(plan.shape.conv.input),
      kernel_(kernel),
      input_(static_cast<const std::byte*>(input)),
      size_(static_cast<std::int64_t>(size_of(plan.shape.input))),
      moves_(moves_for(plan.shape.input, plan.isa)) {
  std::int64_t row_bytes = plan.row_spread.dilation * view_.stride[3] * size_;
  std::int64_t column_bytes = view_.stride[4] * size_;
  const std::byte* first = input_;
  if (plan.input_channels_last()) {
    const auto bytes = static_cast<std::size_t>(plan.inputs() * size_);
    zeros_ = static_cast<std::byte*>(scratch.take(bytes));
    std::fill_n(zeros_, bytes, std::byte{0});
  } else {
    const std::int64_t row = staged_columns(plan) * plan.lanes();
    // The square at the end of a row reaches into the next row, which is written after it.
    stage_ = scratch.take_array<float>(
        static_cast<std::size_t>(plan.rows->inputs() * row + plan.lanes() * plan.lanes()));
    lines_ = scratch.take_array<float>(static_cast<std::size_t>(row));
    first = reinterpret_cast<const std::byte*>(stage_);
    row_bytes = row * kFloat;
    column_bytes = plan.lanes() * kFloat;
  }
  for (std::int64_t r = 0; r < plan.rows->inputs(); ++r)
    for (std::int64_t c = 0; c < plan.columns->inputs(); ++c)
      points_.push_back(first + r * row_bytes + c * plan.column_spread.dilation * column_bytes);
  border_.resize(points_.size());
}

void InputTransform::run(std::int64_t first, std::int64_t last, float* output) {
  while (first < last) {
    const Segment segment = plan_.segment(first, last);
    if (plan_.input_channels_last()) {
      run_in_place(segment, output);
    } else {
      run_staged(segment, output);
    }
    output += segment.tiles * plan_.tile_stride();
    first += segment.tiles;
  }
}

void InputTransform::run_in_place(const Segment& segment, float* output) {
  const ConvGeometry& conv = plan_.shape.conv;
  const std::int64_t height = plan_.rows->inputs(), width = plan_.columns->inputs();
  const std::int64_t row = plan_.row_spread.first(segment.row) * conv.stride[1] - conv.pad_lo[1];
  const Inside rows = inside(row, conv.dilation[1], height, view_.len[3]);
  for (std::int64_t tile = 0; tile < segment.tiles; ++tile, output += plan_.tile_stride()) {
    const std::int64_t column =
        plan_.column_spread.first(segment.column + tile) * conv.stride[2] - conv.pad_lo[2];
    const Inside columns = inside(column, conv.dilation[2], width, view_.len[4]);
    InputCall call{
        points_.data(),
        (segment.image * view_.stride[0] + row * view_.stride[3] + column * view_.stride[4]) *
            size_,
        output, plan_.inputs()};
    if (!rows.all(height) || !columns.all(width)) {
      for (std::int64_t r = 0; r < height; ++r)
        for (std::int64_t c = 0; c < width; ++c) {
          const auto i = static_cast<std::size_t>(r * width + c);
          border_[i] = rows.holds(r) && columns.holds(c)
                           ? static_cast<const std::byte*>(points_[i]) + call.offset
                           : zeros_;
        }
      call.points = border_.data();
      call.offset = 0;
    }
    kernel_(&call);
  }
}

void InputTransform::run_staged(const Segment& segment, float* output) {
  const std::int64_t column_bytes = plan_.columns->stride * plan_.lanes() * kFloat;
  for (std::int64_t channel = 0; channel < plan_.inputs(); channel += plan_.lanes()) {
    stage_channels(segment, channel);
    for (std::int64_t tile = 0; tile < segment.tiles; ++tile) {
      const InputCall call{points_.data(), plan_.column_spread.first(tile) * column_bytes,
                           output + tile * plan_.tile_stride() + channel, plan_.lanes()};
      kernel_(&call);
    }
  }
}

// Zeros stand for padding and for channels behind the last one.
void InputTransform::stage_channels(const Segment& segment, std::int64_t channel) {
  const ConvGeometry& conv = plan_.shape.conv;
  const std::int64_t lanes = plan_.lanes();
  const std::int64_t row = plan_.row_spread.first(segment.row) * conv.stride[1] - conv.pad_lo[1];
  const std::int64_t column =
      plan_.column_spread.first(segment.column) * conv.stride[2] - conv.pad_lo[2];
  const std::int64_t columns = columns_of(plan_, segment.tiles);
  const Inside rows = inside(row, conv.dilation[1], plan_.rows->inputs(), view_.len[3]);
  const Inside within = inside(column, 1, columns, view_.len[4]);
  const std::int64_t channels = std::min(lanes, plan_.inputs() - channel);
  float* staged = stage_;
  for (std::int64_t r = 0; r < plan_.rows->inputs(); ++r, staged += staged_columns(plan_) * lanes) {
    if (!rows.holds(r) || within.first >= within.last) {
      std::fill_n(staged, columns * lanes, 0.0F);
      continue;
    }
    const std::byte* from = input_ + (segment.image * view_.stride[0] + channel * view_.stride[1] +
                                      (row + r * conv.dilation[1]) * view_.stride[3] +
                                      (column + within.first) * view_.stride[4]) *
                                         size_;
    stage_row(from, channels, within.last - within.first, staged + within.first * lanes);
    std::fill_n(staged, within.first * lanes, 0.0F);
    std::fill(staged + within.last * lanes, staged + columns * lanes, 0.0F);
  }
}

// A row of so many columns, which starts at `row` in its first channel. The last square overlaps
// the one before, or reads what follows the row; where there is nothing of that, and for other
// types and fewer channels, it goes through a copy.
void InputTransform::stage_row(const std::byte* row, std::int64_t channels, std::int64_t columns,
                               float* staged) {
  const std::int64_t lanes = plan_.lanes(), step = view_.stride[1];
  if (plan_.shape.input != DType::f32 || channels < lanes || !may_read_square(row, columns)) {
    copy_row(row, channels, columns, staged);
    return;
  }
  const float* from = reinterpret_cast<const float*>(row);
  const std::int64_t first = columns < lanes ? columns : columns / lanes * lanes;
  moves_.turn(from, step, lanes, first, staged, lanes);
  if (first == columns) return;
  const std::int64_t last = columns - lanes;
  moves_.turn(from + last, step, lanes, lanes, staged + last * lanes, lanes);
}

bool InputTransform::may_read_square(const std::byte* row, std::int64_t columns) const {
  const std::int64_t side = plan_.lanes();
  return columns >= side ||
         (row - input_) / size_ + (side - 1) * view_.stride[1] + side <= view_.span();
}

void InputTransform::copy_row(const std::byte* row, std::int64_t channels, std::int64_t columns,
                              float* staged) {
  const std::int64_t pitch = staged_columns(plan_);
  for (std::int64_t i = 0; i < plan_.lanes(); ++i) {
    float* line = lines_ + i * pitch;
    if (i < channels) {
      moves_.widen(row + i * view_.stride[1] * size_, 1, line, columns);
    } else {
      std::fill_n(line, columns, 0.0F);
    }
  }
  moves_.turn(lines_, pitch, plan_.lanes(), columns, staged, plan_.lanes());
}

}  // namespace fuseplan::cpu
