// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/output.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

}  // namespace

// A whole square behind the last row and column is written by no one and read in turning.
OutputTransform::OutputTransform(const WinogradPlan& plan, TileKernel tiles,
                                 StripChain::RowsKernel rows, const Arguments& arguments,
                                 const ChainFrame& frame, Scratch& scratch)
    : plan_(plan),
      tiles_(tiles),
      chain_(plan.shape.tensors(), rows, arguments, frame, scratch),
      pixels_(scratch.take_array<float>(static_cast<std::size_t>(
          (plan.rows->outputs * kSegmentColumns + plan.lanes()) * plan.width()))) {
  chain_.expect_pixels(kSegmentColumns, plan.width(), plan.isa, scratch);
}

OutputStrides OutputTransform::strides(const WinogradPlan& plan) {
  const std::int64_t pixel = plan.width() * kFloat;
  return {plan.sums_stride() * kFloat, kSegmentColumns * pixel,
          plan.column_spread.dilation * pixel};
}

void OutputTransform::run(std::int64_t first, std::int64_t last, std::int64_t channel_tile,
                          const float* sums) {
  while (first < last) {
    const Segment segment = plan_.segment(first, last);
    const std::int64_t rows = plan_.row_spread.count(segment.row, plan_.shape.conv.output.len[3]);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Part part = at(segment, channel_tile, row);
      chain_.expect_stores(part.channels, 0, part.columns);
    }
    transform(segment, channel_tile, sums);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Part part = at(segment, channel_tile, row);
      chain_.finish_pixels(pixels_ + row * kSegmentColumns * plan_.width(), plan_.width(),
                           part.columns, part.channels);
    }
    first += segment.tiles;
    sums += segment.tiles * plan_.width_of(channel_tile);
  }
}

/// Tiles of a run lie between each other.
void OutputTransform::transform(const Segment& segment, std::int64_t channel_tile,
                                const float* sums) {
  const std::int64_t vectors = plan_.vectors_of(channel_tile);
  if (plan_.column_spread.dilation == 1) {
    const OutputCall call{sums, pixels_, segment.tiles, vectors};
    return tiles_(&call);
  }
  for (std::int64_t tile = 0; tile < segment.tiles; ++tile) {
    const OutputCall call{sums + tile * plan_.width_of(channel_tile),
                          pixels_ + plan_.column_spread.first(tile) * plan_.width(), 1, vectors};
    tiles_(&call);
  }
}

OutputTransform::Part OutputTransform::at(const Segment& segment, std::int64_t channel_tile,
                                          std::int64_t row) {
  const std::int64_t channel = channel_tile * plan_.width();
  const std::int64_t channels = std::min(plan_.width_of(channel_tile), plan_.outputs() - channel);
  const std::int64_t column = plan_.column_spread.first(segment.column);
  const std::int64_t columns =
      std::min(segment.tiles * plan_.columns->outputs, plan_.shape.conv.output.len[4] - column);
  chain_.at({segment.image, channel, 0,
             plan_.row_spread.first(segment.row) + row * plan_.row_spread.dilation, column});
  return {channels, columns};
}

}  // namespace fuseplan::cpu
