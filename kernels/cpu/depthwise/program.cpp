// SPDX-License-Identifier: MIT
#include "kernels/cpu/depthwise/program.hpp"

#include <algorithm>

#include "kernels/cpu/portable/block_io.hpp"

namespace fuseplan::cpu {

DepthwiseProgram::DepthwiseProgram(const DepthwisePlan& plan, const SplitChain& chain,
                                   const DepthwiseEntries& entries)
    : plan_(plan),
      chain_(chain, plan.g.output.len[1], entries.prologue),
      sums_(entries.sums.begin(), entries.sums.end()),
      rows_(entries.rows),
      stage_(entries.stage) {}

std::int64_t DepthwiseProgram::packed_floats() const {
  return g_.filter[0] * g_.filter[1] * g_.filter[2] * g_.output.len[1];
}

std::size_t DepthwiseProgram::prepared_bytes() const {
  return static_cast<std::size_t>(packed_floats()) * sizeof(float);
}

std::string DepthwiseProgram::weight_format() const { return "depthwise " + plan_.weights_text; }

void DepthwiseProgram::prepare(const void* raw, void* prepared, const Parallel&) const {
  const auto& s = g_.weight_stride;
  const auto channels = static_cast<int>(g_.output.len[1]), taps = static_cast<int>(g_.filter[2]);
  const auto element = static_cast<std::int64_t>(size_of(plan_.weights));
  const std::int64_t rows = g_.filter[0] * g_.filter[1];
  auto* packed = static_cast<float*>(prepared);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t offset = row / g_.filter[1] * s[2] + row % g_.filter[1] * s[3];
    const void* from = static_cast<const std::byte*>(raw) + offset * element;
    load_block(plan_.weights, from, {s[0], s[4]}, {channels, taps, static_cast<int>(rows) * taps},
               packed + row * taps);
  }
}

DepthwiseProgram::Launch DepthwiseProgram::launch(const Arguments& arguments,
                                                  Scratch& scratch) const {
  return {arguments, chain_.prepare(arguments, scratch)};
}

const std::byte* DepthwiseProgram::at(const void* data, DType dtype, const View& view,
                                      const Index& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < 5; ++axis) offset += index[axis] * view.stride[axis];
  return static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace fuseplan::cpu
