// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/input.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

std::int64_t columns_of(std::int64_t tiles) {
  return tiles * kTileOutputs + kTileInputs - kTileOutputs;
}

// Which of `count` input indices from `first` lie inside an axis of this length.
TileSource::Inside inside(std::int64_t first, std::int64_t count, std::int64_t length) {
  return {std::clamp<std::int64_t>(-first, 0, count),
          std::clamp(length - first, std::int64_t{0}, count)};
}

}  // namespace

InputTransform::InputTransform(const WinogradPlan& plan, const float* input, Scratch& scratch)
    : plan_(plan),
      view_(plan.shape.conv.input),
      input_(input),
      moves_(moves_for(DType::f32, Isa::avx512)) {
  if (plan.input_channels_last()) return;
  // Squares of 16 columns may reach over the end of the last row.
  const std::int64_t pixels = kTileInputs * columns_of(kSegmentTiles) + kTileLanes;
  stage_ = scratch.take_array<float>(static_cast<std::size_t>(pixels * kTileLanes));
  corner_ = scratch.take_array<float>(kTileLanes * kTileLanes);
}

void InputTransform::run(std::int64_t first, std::int64_t last, float* output,
                         std::int64_t stride) const {
  while (first < last) {
    const Segment segment = plan_.segment(first, last);
    if (plan_.input_channels_last()) {
      run_segment(segment, output, stride);
    } else {
      run_staged(segment, output, stride);
    }
    output += segment.tiles * plan_.tile_stride();
    first += segment.tiles;
  }
}

void InputTransform::run_segment(const Segment& segment, float* output, std::int64_t stride) const {
  const ConvGeometry& conv = plan_.shape.conv;
  TileSource source;
  source.base = input_;
  source.row_stride = view_.stride[3];
  source.column_stride = view_.stride[4];
  const std::int64_t row = segment.row * kTileOutputs - conv.pad_lo[1];
  source.rows = inside(row, kTileInputs, view_.len[3]);
  for (std::int64_t tile = 0; tile < segment.tiles; ++tile, output += plan_.tile_stride()) {
    const std::int64_t column = (segment.column + tile) * kTileOutputs - conv.pad_lo[2];
    source.columns = inside(column, kTileInputs, view_.len[4]);
    const std::int64_t offset =
        segment.image * view_.stride[0] + row * view_.stride[3] + column * view_.stride[4];
    for (std::int64_t channel = 0; channel < plan_.inputs(); channel += kTileLanes) {
      source.offset = offset + channel;
      source.channels = std::min(kTileLanes, plan_.inputs() - channel);
      transform_input(source, output + channel, stride);
    }
  }
}

void InputTransform::run_staged(const Segment& segment, float* output, std::int64_t stride) const {
  TileSource source;
  source.base = stage_;
  source.row_stride = columns_of(segment.tiles) * kTileLanes;
  source.column_stride = kTileLanes;
  for (std::int64_t channel = 0; channel < plan_.inputs(); channel += kTileLanes) {
    stage_channels(segment, channel);
    for (std::int64_t tile = 0; tile < segment.tiles; ++tile) {
      source.offset = tile * kTileOutputs * kTileLanes;
      transform_input(source, output + tile * plan_.tile_stride() + channel, stride);
    }
  }
}

// Zeros stand for padding and for channels behind the last one.
void InputTransform::stage_channels(const Segment& segment, std::int64_t channel) const {
  const ConvGeometry& conv = plan_.shape.conv;
  const std::int64_t row = segment.row * kTileOutputs - conv.pad_lo[1];
  const std::int64_t column = segment.column * kTileOutputs - conv.pad_lo[2];
  const std::int64_t columns = columns_of(segment.tiles);
  const auto rows_inside = inside(row, kTileInputs, view_.len[3]);
  const auto columns_inside = inside(column, columns, view_.len[4]);
  const std::int64_t channels = std::min(kTileLanes, plan_.inputs() - channel);
  float* staged = stage_;
  for (std::int64_t i = 0; i < kTileInputs; ++i, staged += columns * kTileLanes) {
    const bool empty = !rows_inside.holds(i) || columns_inside.first >= columns_inside.last;
    const std::int64_t first = empty ? columns : columns_inside.first;
    std::fill_n(staged, first * kTileLanes, 0.0F);
    if (empty) continue;
    const float* from = input_ + segment.image * view_.stride[0] + channel * view_.stride[1] +
                        (row + i) * view_.stride[3] + (column + first) * view_.stride[4];
    stage_row(from, channels, first, columns_inside.last, staged);
    std::fill(staged + columns_inside.last * kTileLanes, staged + columns * kTileLanes, 0.0F);
  }
}

// Columns [column, last) of a row, which starts at `row` in its first channel.
void InputTransform::stage_row(const float* row, std::int64_t channels, std::int64_t column,
                               std::int64_t last, float* staged) const {
  alignas(64) static constexpr float kZeros[kTileLanes] = {};
  const float* rows[kTileLanes];
  float* columns[kTileLanes];
  const std::int64_t first = column;
  while (column < last) {
    const std::int64_t left = std::min(kTileLanes, last - column);
    const bool narrow = last - first < kTileLanes;
    // The last square of a row overlaps the one before it rather than reading behind the row.
    if (!narrow && left < kTileLanes) column = last - kTileLanes;
    for (std::int64_t i = 0; i < kTileLanes; ++i) {
      columns[i] = staged + (column + i) * kTileLanes;
      rows[i] = kZeros;
      if (i >= channels) continue;
      rows[i] = row + i * view_.stride[1] + column - first;
      if (!narrow) continue;
      moves_.widen(rows[i], 1, corner_ + i * kTileLanes, left);
      rows[i] = corner_ + i * kTileLanes;
    }
    moves_.transpose(rows, columns);
    column += kTileLanes;
  }
}

}  // namespace fuseplan::cpu
