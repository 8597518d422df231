// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/output.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kColumns = kSegmentTiles * kTileOutputs;
constexpr std::int64_t kWidth = kPieceVectors * kTileLanes;

// From one row of lanes to the next, in elements.
std::int64_t row_step(const WinogradPlan& plan, const View& view) {
  return view.stride[plan.shape.lanes_are_channels ? 4 : 1];
}

}  // namespace

OutputTransform::OutputTransform(const WinogradPlan& plan, RowsKernel rows,
                                 const Arguments& arguments, const ChainFrame& frame,
                                 Scratch& scratch)
    : plan_(plan),
      rows_(rows),
      arguments_(arguments),
      moves_(moves_for(DType::f32, Isa::avx512)),
      pixels_(scratch.take_array<float>(
          static_cast<std::size_t>((kTileOutputs * kColumns + kTileLanes) * kWidth))),
      turned_(scratch.take_array<float>(static_cast<std::size_t>(kColumns * kWidth))) {
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
    call_.input_step = kColumns * kFloat;
    call_.channel_step = kFloat;
  }
}

void OutputTransform::run(std::int64_t first, std::int64_t last, std::int64_t channel_tile,
                          const float* sums, std::int64_t stride) {
  const std::int64_t width = plan_.width_of(channel_tile);
  while (first < last) {
    const Segment segment = plan_.segment(first, last);
    const std::int64_t row_stride = segment.tiles * kTileOutputs * width;
    for (std::int64_t tile = 0; tile < segment.tiles; ++tile, sums += width)
      for (std::int64_t channel = 0; channel < width; channel += kTileLanes)
        transform_sums(sums + channel, stride, pixels_ + tile * kTileOutputs * width + channel,
                       row_stride, width);
    const std::int64_t rows =
        std::min(kTileOutputs, plan_.shape.conv.output.len[3] - segment.row * kTileOutputs);
    for (std::int64_t row = 0; row < rows; ++row) finish(segment, channel_tile, row);
    first += segment.tiles;
  }
}

// Applies the chain to a row of a segment and stores it.
void OutputTransform::finish(const Segment& segment, std::int64_t channel_tile, std::int64_t row) {
  const View& output = plan_.shape.conv.output;
  const std::int64_t width = plan_.width_of(channel_tile), channel = channel_tile * kWidth;
  const std::int64_t channels = std::min(width, plan_.outputs() - channel);
  const std::int64_t column = segment.column * kTileOutputs;
  const std::int64_t columns = std::min(segment.tiles * kTileOutputs, output.len[4] - column);
  const auto offset = [&](const View& view, DType dtype) {
    return (segment.image * view.stride[0] + channel * view.stride[1] +
            (segment.row * kTileOutputs + row) * view.stride[3] + column * view.stride[4]) *
           static_cast<std::int64_t>(size_of(dtype));
  };
  for (std::size_t i = 0; i < elements_.size(); ++i)
    elements_[i] = static_cast<const std::byte*>(arguments_.elements[i]) +
                   offset(plan_.shape.elements[i].view, plan_.shape.elements[i].dtype);
  RowsCall call = call_;
  call.output = static_cast<std::byte*>(arguments_.output) + offset(output, plan_.shape.output);
  if (call.channels != nullptr) call.channels += channel;
  const float* pixels = pixels_ + row * segment.tiles * kTileOutputs * width;
  if (plan_.shape.lanes_are_channels) {
    call.input = pixels;
    call.input_step = width * kFloat;
    call.rows = columns;
    call.lanes = channels;
  } else {
    moves_.turn(pixels, width, columns, width, turned_, kColumns);
    call.input = turned_;
    call.rows = channels;
    call.lanes = columns;
  }
  rows_(&call);
}

}  // namespace fuseplan::cpu
