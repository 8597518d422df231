// SPDX-License-Identifier: MIT
#include "kernels/cpu/pointwise/walk_call.hpp"

namespace fuseplan::cpu {

namespace {

// A tensor that the call goes without stays null.
const void* moved(const void* base, std::int64_t elements, DType dtype) {
  if (base == nullptr) return nullptr;
  return static_cast<const std::byte*>(base) + elements * static_cast<std::int64_t>(size_of(dtype));
}

/// Elements from a tensor's first to those of the block.
std::int64_t offset_of(const Walk& walk, const WalkBlock& block, std::size_t tensor) {
  std::int64_t at =
      block.row % walk.rows.len * walk.rows.stride[tensor] + block.lane * walk.lanes.stride[tensor];
  std::int64_t index = block.row / walk.rows.len;
  for (std::size_t a = walk.outer.size(); a-- > 0;) {
    const Walk::Axis& axis = walk.outer[a];
    at += index % axis.len * axis.stride[tensor];
    index /= axis.len;
  }
  return at;
}

}  // namespace

RowsCall call_of(const Walk& walk, const WalkPlace& place, const WalkBlock& block,
                 Scratch& scratch) {
  const auto start = [&](const void* base, std::size_t t) {
    return moved(base, offset_of(walk, block, t), walk.dtypes[t]);
  };
  const auto step = [&](std::size_t t) {
    return place.fold * walk.rows.stride[t] * static_cast<std::int64_t>(size_of(walk.dtypes[t]));
  };
  const std::size_t count = place.elements.size();
  const void** elements = scratch.take_array<const void*>(count);
  std::int64_t* element_steps = scratch.take_array<std::int64_t>(count);
  for (std::size_t e = 0; e < count; ++e) {
    const std::size_t t = Walk::kElements + place.first_element + e;
    elements[e] = start(place.elements[e], t);
    element_steps[e] = step(t);
  }
  const float* channels = place.frame.channels;
  if (channels != nullptr) channels += offset_of(walk, block, Walk::kChannel);
  return {.input = start(place.input, Walk::kInput),
          .output = const_cast<void*>(start(place.output, Walk::kOutput)),
          .elements = elements,
          .element_steps = element_steps,
          .uniforms = place.frame.uniforms,
          .channels = channels,
          .channel_stride_bytes = place.frame.channel_stride * 4,
          .channel_step = walk.lanes_are_channels ? 0 : step(Walk::kChannel),
          .rows = block.rows,
          .lanes = block.lanes,
          .input_step = step(Walk::kInput),
          .output_step = step(Walk::kOutput)};
}

}  // namespace fuseplan::cpu
