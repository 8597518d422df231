// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/output.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
// From one row of lanes to the next, in elements.
std::int64_t row_step(const WinogradPlan& plan, const View& view) {
  return view.stride[plan.shape.lanes_are_channels ? 4 : 1];
}

}  // namespace

// A whole square behind the last row and column is written by no one and read by moves_.turn.
OutputTransform::OutputTransform(const WinogradPlan& plan, TileKernel tiles, RowsKernel rows,
                                 const Arguments& arguments, const ChainFrame& frame,
                                 Scratch& scratch)
    : plan_(plan),
      tiles_(tiles),
      rows_(rows),
      arguments_(arguments),
      moves_(moves_for(DType::f32, plan.isa)),
      pixels_(scratch.take_array<float>(static_cast<std::size_t>(
          (plan.rows->outputs * kSegmentColumns + plan.lanes()) * plan.width()))),
      turned_(scratch.take_array<float>(static_cast<std::size_t>(kSegmentColumns * plan.width()))) {
  for (const DirectShape::Element& element : plan.shape.elements)
    element_steps_.push_back(row_step(plan, element.view) *
                             static_cast<std::int64_t>(size_of(element.dtype)));
  elements_.resize(plan.shape.elements.size());
  call_.elements = elements_.data();
  call_.element_steps = element_steps_.data();
  call_.uniforms = frame.uniforms;
  call_.channels = frame.channels;
  call_.channel_stride_bytes = frame.channel_stride * kFloat;
  call_.output_step = row_step(plan, plan.shape.conv.output) *
                      static_cast<std::int64_t>(size_of(plan.shape.output));
  if (!plan.shape.lanes_are_channels) {
    call_.input_step = kSegmentColumns * kFloat;
    call_.channel_step = kFloat;
  }
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
    tiles_(&call);
    const std::int64_t rows =
        std::min(height, plan_.shape.conv.output.len[3] - segment.row * height);
    for (std::int64_t row = 0; row < rows; ++row) finish(segment, channel_tile, row);
    first += segment.tiles;
    sums += segment.tiles * plan_.width_of(channel_tile);
  }
}

// Applies the chain to a row of a segment and stores it.
void OutputTransform::finish(const Segment& segment, std::int64_t channel_tile, std::int64_t row) {
  const View& output = plan_.shape.conv.output;
  const std::int64_t width = plan_.width_of(channel_tile);
  const std::int64_t channel = channel_tile * plan_.width();
  const std::int64_t channels = std::min(width, plan_.outputs() - channel);
  const std::int64_t column = segment.column * plan_.columns->outputs;
  const std::int64_t columns =
      std::min(segment.tiles * plan_.columns->outputs, output.len[4] - column);
  const auto offset = [&](const View& view, DType dtype) {
    return (segment.image * view.stride[0] + channel * view.stride[1] +
            (segment.row * plan_.rows->outputs + row) * view.stride[3] + column * view.stride[4]) *
           static_cast<std::int64_t>(size_of(dtype));
  };
  for (std::size_t i = 0; i < elements_.size(); ++i)
    elements_[i] = static_cast<const std::byte*>(arguments_.elements[i]) +
                   offset(plan_.shape.elements[i].view, plan_.shape.elements[i].dtype);
  RowsCall call = call_;
  call.output = static_cast<std::byte*>(arguments_.output) + offset(output, plan_.shape.output);
  if (call.channels != nullptr) call.channels += channel;
  const float* pixels = pixels_ + row * kSegmentColumns * plan_.width();
  if (plan_.shape.lanes_are_channels) {
    call.input = pixels;
    call.input_step = plan_.width() * kFloat;
    call.rows = columns;
    call.lanes = channels;
  } else {
    moves_.turn(pixels, plan_.width(), columns, width, turned_, kSegmentColumns);
    call.input = turned_;
    call.rows = channels;
    call.lanes = columns;
  }
  rows_(&call);
}

}  // namespace fuseplan::cpu
