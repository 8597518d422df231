// SPDX-License-Identifier: MIT
#include "kernels/gpu/conv_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/integer.hpp"
#include "kernels/gpu/sources.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::View;

void put_strides(const View& view, ArgumentBlock& block) {
  for (std::int64_t stride : view.stride) block.put(stride);
}

}  // namespace

ConvShape::ConvShape(const Problem& problem, const SplitChain& chain)
    : geometry(cpu::geometry_of(problem)) {
  for (const Operand& element : chain.elements)
    elements.push_back(cpu::broadcast_view(element.tensor, problem.output()));
}

std::int64_t ConvShape::depth() const {
  return geometry.group_inputs * geometry.filter[0] * geometry.filter[1] * geometry.filter[2];
}

bool ConvShape::dense_filters() const {
  static constexpr std::array<std::size_t, 4> kTapsInner{3, 2, 1, 0}, kChannelsInner{0, 3, 2, 1};
  const std::int64_t lens[] = {geometry.group_inputs, geometry.filter[0], geometry.filter[1],
                               geometry.filter[2]};
  const std::int64_t* const strides = &geometry.weight_stride[1];
  std::int64_t next = 1;
  for (std::size_t axis : taps_inner() ? kTapsInner : kChannelsInner) {
    if (lens[axis] != 1 && strides[axis] != next) return false;
    next *= lens[axis];
  }
  return true;
}

std::int64_t ConvShape::blocks(int tile_m, int tile_n) const {
  const auto& g = geometry;
  return ceil_div(g.output.len[0] * g.output.pixels(), tile_m) * ceil_div(g.group_outputs, tile_n) *
         g.groups;
}

std::string conv_macros(const ConvShape& shape) {
  const cpu::ConvGeometry& g = shape.geometry;
  std::string text =
      define("GROUPS", g.groups) + define("C", g.group_inputs) + define("K", g.group_outputs) +
      define("VOLUME", shape.is_volume()) + define("WEIGHT_K", g.weight_stride[0]) +
      define("WEIGHT_C", g.weight_stride[1]) + define("TAPS_INNER", shape.taps_inner()) +
      define("PIXELS_INNER", g.input.stride[4] <= g.input.stride[1]) +
      define("OUT_PIXELS", g.output.stride[4] <= g.output.stride[1]);
  constexpr const char *kFilter[] = {"T", "R", "S"}, *kAxis[] = {"D", "H", "W"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto along = [&](const char* what) { return fmt::format("{}_{}", what, kAxis[axis]); };
    text += define(kFilter[axis], g.filter[axis]) + define(along("STRIDE"), g.stride[axis]) +
            define(along("PAD"), g.pad_lo[axis]) + define(along("DILATION"), g.dilation[axis]) +
            define(fmt::format("WEIGHT_{}", kFilter[axis]), g.weight_stride[2 + axis]);
  }
  return text;
}

std::string geometry_fields(const ConvShape& shape) {
  return fmt::format(
      "long long input_stride[5], output_stride[5], element_stride[{}][5];\n"
      "fp_divisor width, height, depth;\nunsigned pixels, input_d, input_h, input_w;\n",
      std::max<std::size_t>(shape.elements.size(), 1));
}

void put_geometry(const ConvShape& shape, ArgumentBlock& block) {
  const cpu::ConvGeometry& g = shape.geometry;
  put_strides(g.input, block);
  put_strides(g.output, block);
  for (const View& element : shape.elements) put_strides(element, block);
  if (shape.elements.empty()) put_strides({}, block);
  for (std::size_t axis : {4, 3, 2}) block.put(Divisor(g.output.len[axis]));
  block.put(static_cast<std::uint32_t>(g.output.len[0] * g.output.pixels()));
  for (std::size_t axis : {2, 3, 4}) block.put(static_cast<std::uint32_t>(g.input.len[axis]));
}

std::string conv_fields(const ConvShape& shape) {
  return geometry_fields(shape) + "unsigned wide;\n";
}

std::span<const std::byte> conv_arguments(const ConvShape& shape, const ChainArguments& chain,
                                          const cpu::Arguments& arguments, Scratch& scratch,
                                          bool wide) {
  ArgumentBlock block(scratch);
  chain.put_pointers(arguments, block);
  put_geometry(shape, block);
  block.put(static_cast<std::uint32_t>(wide));
  chain.put_uniforms(arguments, block, scratch);
  return block.finish();
}

}  // namespace fuseplan::gpu
