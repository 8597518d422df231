// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv_source.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fuseplan::gpu {
namespace {

using cpu::View;

// The order N, C, H, W of a view whose depth is 1.
constexpr std::size_t kAxes[] = {0, 1, 3, 4};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void put_strides(const View& view, ArgumentBlock& block) {
  for (std::size_t axis : kAxes) block.put(view.stride[axis]);
}

}  // namespace

ConvShape::ConvShape(const Problem& problem, const SplitChain& chain)
    : geometry(cpu::geometry_of(problem)) {
  for (const Operand& element : chain.elements)
    elements.push_back(cpu::broadcast_view(element.tensor, problem.output()));
}

std::int64_t ConvShape::depth() const {
  return geometry.group_inputs * geometry.filter[1] * geometry.filter[2];
}

std::int64_t ConvShape::blocks(int tile_m, int tile_n) const {
  const auto& g = geometry;
  return ceil_div(g.output.len[0] * g.output.pixels(), tile_m) * ceil_div(g.group_outputs, tile_n) *
         g.groups;
}

std::string define(const char* name, std::int64_t value) {
  return fmt::format("#define FP_{} {}\n", name, value);
}

std::string conv_macros(const ConvShape& shape) {
  const cpu::ConvGeometry& g = shape.geometry;
  const auto& weights = g.weight_stride;
  return define("GROUPS", g.groups) + define("C", g.group_inputs) + define("K", g.group_outputs) +
         define("R", g.filter[1]) + define("S", g.filter[2]) + define("STRIDE_H", g.stride[1]) +
         define("STRIDE_W", g.stride[2]) + define("PAD_H", g.pad_lo[1]) +
         define("PAD_W", g.pad_lo[2]) + define("DILATION_H", g.dilation[1]) +
         define("DILATION_W", g.dilation[2]) + define("WEIGHT_K", weights[0]) +
         define("WEIGHT_C", weights[1]) + define("WEIGHT_R", weights[3]) +
         define("WEIGHT_S", weights[4]) + define("TAPS_INNER", shape.taps_inner()) +
         define("PIXELS_INNER", g.input.stride[4] <= g.input.stride[1]) +
         define("OUT_PIXELS", g.output.stride[4] <= g.output.stride[1]);
}

std::string conv_fields(const ConvShape& shape) {
  return fmt::format(
      "long long input_stride[4], output_stride[4], element_stride[{}][4];\n"
      "fp_divisor width, height;\nunsigned pixels, input_h, input_w, wide;\n",
      std::max<std::size_t>(shape.elements.size(), 1));
}

std::span<const std::byte> conv_arguments(const ConvShape& shape, const ChainArguments& chain,
                                          const cpu::Arguments& arguments, Scratch& scratch,
                                          bool wide) {
  const cpu::ConvGeometry& g = shape.geometry;
  ArgumentBlock block(scratch);
  chain.put_pointers(arguments, block);
  put_strides(g.input, block);
  put_strides(g.output, block);
  for (const View& element : shape.elements) put_strides(element, block);
  if (shape.elements.empty()) put_strides({}, block);
  block.put(Divisor(g.output.len[4]));
  block.put(Divisor(g.output.len[3]));
  for (std::int64_t length : {g.output.len[0] * g.output.pixels(), g.input.len[3], g.input.len[4]})
    block.put(static_cast<std::uint32_t>(length));
  block.put(static_cast<std::uint32_t>(wide));
  chain.put_uniforms(arguments, block, scratch);
  return block.finish();
}

}  // namespace fuseplan::gpu
