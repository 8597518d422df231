// SPDX-License-Identifier: MIT
#include "kernels/cpu/chain_walk.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

}  // namespace

ChainWalk::ChainWalk(const ChainTensors& tensors, const Arguments& arguments,
                     const ChainFrame& frame, Scratch& scratch)
    : output_(stream_of(arguments.output, tensors.output, tensors.dtype)),
      count_(tensors.elements.size()),
      streams_(scratch.take_array<Stream>(count_)),
      elements_(scratch.take_array<const void*>(count_)),
      element_steps_(scratch.take_array<std::int64_t>(count_)),
      channels_(frame.channels) {
  for (std::size_t i = 0; i < count_; ++i) {
    const ElementView& element = tensors.elements[i];
    streams_[i] = stream_of(arguments.elements[i], element.view, element.dtype);
    elements_[i] = arguments.elements[i];
    element_steps_[i] = streams_[i].step[tensors.row_axis];
  }
  call_.elements = elements_;
  call_.element_steps = element_steps_;
  call_.uniforms = frame.uniforms;
  call_.channel_stride_bytes = frame.channel_stride * kFloat;
  call_.channel_step = tensors.row_axis == 1 ? kFloat : 0;
  call_.output_step = output_.step[tensors.row_axis];
}

ChainWalk::Stream ChainWalk::stream_of(const void* base, const View& view, DType dtype) {
  Stream stream{static_cast<const std::byte*>(base), view.stride};
  for (std::int64_t& step : stream.step) step *= static_cast<std::int64_t>(size_of(dtype));
  return stream;
}

const std::byte* ChainWalk::Stream::at(const Index& index) const {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * step[axis];
  return base + offset;
}

RowsCall& ChainWalk::at(const Index& index) {
  call_.output = const_cast<std::byte*>(output_.at(index));
  elements_at(index, elements_);
  if (channels_ != nullptr) call_.channels = channels_ + index[1];
  return call_;
}

void ChainWalk::elements_at(const Index& index, const void** to) const {
  for (std::size_t i = 0; i < count_; ++i) to[i] = streams_[i].at(index);
}

void ChainWalk::skip_rows(std::int64_t rows) {
  call_.output = static_cast<std::byte*>(call_.output) + rows * call_.output_step;
  for (std::size_t i = 0; i < count_; ++i)
    elements_[i] = static_cast<const std::byte*>(elements_[i]) + rows * element_steps_[i];
}

}  // namespace fuseplan::cpu
