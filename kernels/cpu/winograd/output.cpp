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
  return {plan.sums_stride() * kFloat, kSegmentColumns * pixel, pixel};
}

void OutputTransform::run(std::int64_t first, std::int64_t last, std::int64_t channel_tile,
                          const float* sums) {
  const std::int64_t height = plan_.rows->outputs;
  while (first < last) {
    const Segment segment = plan_.segment(first, last);
    const OutputCall call{sums, pixels_, segment.tiles, plan_.vectors_of(channel_tile)};
    const std::int64_t rows =
        std::min(height, plan_.shape.conv.output.len[3] - segment.row * height);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Part part = at(segment, channel_tile, row);
      chain_.expect_stores(part.channels, 0, part.columns);
    }
    tiles_(&call);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Part part = at(segment, channel_tile, row);
      chain_.finish_pixels(pixels_ + row * kSegmentColumns * plan_.width(), plan_.width(),
                           part.columns, part.channels);
    }
    first += segment.tiles;
    sums += segment.tiles * plan_.width_of(channel_tile);
  }
}

OutputTransform::Part OutputTransform::at(const Segment& segment, std::int64_t channel_tile,
                                          std::int64_t row) {
  const std::int64_t channel = channel_tile * plan_.width();
  const std::int64_t channels = std::min(plan_.width_of(channel_tile), plan_.outputs() - channel);
  const std::int64_t column = segment.column * plan_.columns->outputs;
  const std::int64_t columns =
      std::min(segment.tiles * plan_.columns->outputs, plan_.shape.conv.output.len[4] - column);
  chain_.at({segment.image, channel, 0, segment.row * plan_.rows->outputs + row, column});
  return {channels, columns};
}

}  // namespace fuseplan::cpu
