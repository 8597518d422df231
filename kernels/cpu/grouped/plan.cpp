// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/drained_output.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kMostInputs = 16;  ///< of a group

bool lanes_fit(const GroupedShape& shape, int axis) {
  ChainTensors tensors = shape.tensors();
  tensors.lane_axis = static_cast<std::size_t>(axis);
  return contiguous_along(shape.g.input, axis) && !lane_refusal(tensors);
}

/// Every block's input is a whole vector: 2 or 4 channels a group, as many in as out. More would
/// fill vectors without any permutation.
bool reads_whole_vectors(const GroupedShape& shape) {
  const ConvGeometry& g = shape.g;
  return g.group_inputs == g.group_outputs && g.group_inputs < shape.lanes() &&
         shape.lanes() % g.group_inputs == 0 && g.output.len[1] % shape.lanes() == 0;
}

bool channels_fit(const GroupedShape& shape) {
  const ConvGeometry& g = shape.g;
  const bool plain = g.group_inputs == 1 && g.group_outputs == 1;
  // Lanes that read others than their own need a permutation over the whole vector, and on AVX2
  // inputs that fill one.
  if (!plain && shape.isa != Isa::avx512 && !reads_whole_vectors(shape)) return false;
  return (g.group_outputs <= shape.lanes() || g.group_outputs % shape.lanes() == 0) &&
         g.output.len[1] > 1 && lanes_fit(shape, 1);
}

bool columns_fit(const GroupedShape& shape) {
  return shape.g.stride[2] <= 2 && lanes_fit(shape, 4);
}

/// Of one group: channels that are so few that columns in lanes do better than vectors of output
/// channels, whose lanes they leave idle or which turn as many sums as they make products.
struct FewChannels {
  std::int64_t outputs, inputs;
};
/// On a Zen 4 with AVX2 64 to 1 and 64 to 8 channels by 3x3 take 0.17 and 0.75 of the time of
/// direct kernels, 3 to 64 by 3x3 0.5, by 5x5 0.8, at stride 2 0.85, where more products gain
/// nothing; with AVX-512 on Intel's cores 0.2, 0.75, 0.67, 0.8 and 0.87.
FewChannels few_channels(const GroupedShape& shape) {
  const bool bf16 = shape.input == DType::bf16;
  if (shape.has_tiles && is_byte(shape.input)) return {0, 0};
  // Tiles of AMX multiply bf16 as it is: faster, but for a single output, of whose tiles 15 in 16
  // rows are idle, and for what a stride deals out before (see also solvers/cpu_groups.hpp).
  if (shape.has_tiles && bf16) return {shape.g.stride[2] > 1 ? 8 : 1, 0};
  // With more outputs vdpbf16ps, at twice the products, and four tile products for f16 keep up.
  if (shape.has_fast_bf16 && bf16) return {4, 0};
  if (shape.has_tiles && shape.input == DType::f16) return {4, 4};
  return {8, shape.isa == Isa::avx2 ? 3 : 4};
}

/// A convolution of one group of few channels. Taps are written out.
bool takes_one_group(const GroupedShape& shape) {
  constexpr std::int64_t kMostProducts = 75, kMostProductsStrided = 27, kMostTaps = 125;
  const ConvGeometry& g = shape.g;
  const std::int64_t taps = g.filter[0] * shape.taps(), products = g.group_inputs * taps;
  if (!shape.fits || taps == 1 || taps > kMostTaps || g.output.len[4] < shape.lanes()) return false;
  const FewChannels few = few_channels(shape);
  const std::int64_t most = g.stride[2] == 1 ? kMostProducts : kMostProductsStrided;
  return g.group_outputs <= few.outputs || (g.group_inputs <= few.inputs && products <= most);
}

/// Code holds offsets within a tile, and steps from tile to tile, as 32-bit immediates.
bool reach_fits_immediates(const GroupedShape& shape) {
  constexpr double kReach = 1 << 30;
  const ConvGeometry& g = shape.g;
  const auto reach = [&](const View& view, double rows, double columns) {
    const auto stride = [&](std::size_t axis) { return static_cast<double>(view.stride[axis]); };
    return 4 * (rows * stride(3) + columns * stride(4) + 64 * stride(1) + 16 * stride(2));
  };
  const double rows =
      16.0 * static_cast<double>(g.stride[1]) + static_cast<double>(g.filter[1] * g.dilation[1]);
  const double columns = static_cast<double>(g.input.len[4] + 2 * g.pad_lo[2] + 64) +
                         static_cast<double>(g.filter[2] * g.dilation[2]);
  const double outputs = static_cast<double>(g.output.len[4] + 64);
  // From one depth to the next all inputs are walked back.
  const bool has_depths = g.filter[0] > 1 || g.pad_lo[0] > 0 || g.output.len[2] > 1;
  const double inputs = has_depths ? 4.0 * static_cast<double>(g.group_inputs) *
                                         static_cast<double>(g.input.stride[1])
                                   : 0;
  return inputs < kReach &&
         reach(g.input, rows, columns) +
                 4 * static_cast<double>(g.dilation[0]) * static_cast<double>(g.input.stride[2]) <
             kReach &&
         reach(g.output, 32, outputs) < kReach &&
         static_cast<double>(shape.block_bytes()) < kReach &&
         std::ranges::all_of(shape.elements, [&](const ElementView& element) {
           return reach(element.view, 32, outputs) < kReach;
         });
}

}  // namespace

GroupedShape::GroupedShape(const Problem& problem, const SplitChain& chain, const Target& target)
    : isa(target.isa),
      g(geometry_of(problem)),
      input(problem.input().dtype),
      output(problem.output().dtype),
      weights(problem.conv()->weights),
      has_tiles(target.extensions.tiles_bf16),
      has_fast_bf16(target.isa == Isa::avx512 && target.extensions.fast_bf16),
      elements(element_views(chain, problem.output())) {
  if (isa == Isa::portable) return;
  lanes_are_channels = (g.groups > 1 || g.group_inputs == 1) && channels_fit(*this);
  fits = lanes_are_channels || columns_fit(*this);
  if (!lanes_are_channels) step_by_element(g.input, 4);
  finish = finish_spec(tensors(), chain);
  finish.bf16 = target.extensions.bf16;
  plan_blocks();
}

void GroupedShape::plan_blocks() {
  const std::int64_t outputs = g.group_outputs;
  if (!lanes_are_channels) {
    constexpr int kMostOutputs = 4;
    for (int count = 1; count <= kMostOutputs; ++count)
      if (outputs % count == 0) step = count;
    return;
  }
  permuted = g.group_inputs > 1 || outputs > 1;
  const std::int64_t groups =
      std::max<std::int64_t>(1, std::min(lanes() / outputs, lanes() / g.group_inputs));
  step = static_cast<int>(std::min<std::int64_t>(lanes(), groups * outputs));
}

std::int64_t GroupedShape::block_bytes() const {
  const std::int64_t bytes = kHeaderBytes + g.filter[0] * depth_bytes();
  return round_up(bytes, 64);
}

std::optional<std::string> refusal_of(const GroupedShape& shape) {
  if (shape.isa == Isa::portable) return "grouped kernels are written for AVX2 and AVX-512 only";
  const ConvGeometry& g = shape.g;
  if (g.groups == 1 && g.group_inputs > 1 && !takes_one_group(shape))
    return fmt::format("one group of {} inputs, {} outputs and {} taps", g.group_inputs,
                       g.group_outputs, g.filter[0] * shape.taps());
  if (g.groups > 1 && g.group_inputs > kMostInputs)
    return fmt::format("groups of {} input channels", g.group_inputs);
  if (!shape.fits)
    return "input and output must both be contiguous along the channels (on AVX2 with 1 channel a "
           "group, or 2 or 4 and a multiple of 8 in all, as many in as out), or both along the "
           "columns (column stride 1 or 2)";
  if (!reach_fits_immediates(shape)) return "strides reach further than the kernels' immediates";
  return std::nullopt;
}

bool drains_planes(const GroupedShape& shape) {
  return !shape.lanes_are_channels && shape.g.output.len[2] == 1 &&
         channels_are_runs(shape.g.output) && !is_made_of_lines(shape.tensors()) &&
         shape.step * shape.output_plane_bytes() <= kMostRegionBytes;
}

}  // namespace fuseplan::cpu
