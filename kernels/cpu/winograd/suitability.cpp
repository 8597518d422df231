// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/recipe.hpp"
#include "kernels/cpu/winograd/weights.hpp"

namespace fuseplan::cpu {
namespace {

using Kind = WinogradRefusal::Kind;

WinogradRefusal refuse(Kind kind, std::string got, std::string need) {
  return {kind, std::move(got), std::move(need)};
}

std::optional<WinogradRefusal> refuse_convolution(const Problem& problem,
                                                  const ConvGeometry& conv) {
  constexpr std::array<std::int64_t, 3> kFilter{1, 3, 3}, kOnes{1, 1, 1};
  const Conv& op = problem.conv()->conv;
  if (op.spatial() != 2)
    return refuse(Kind::convolution, fmt::format("{} spatial axes", op.spatial()), "2");
  if (conv.filter != kFilter)
    return refuse(Kind::convolution, fmt::format("filter {}x{}", conv.filter[1], conv.filter[2]),
                  "filter 3x3");
  if (conv.stride != kOnes) return refuse(Kind::convolution, "stride above 1", "stride 1");
  if (conv.dilation != kOnes) return refuse(Kind::convolution, "dilation above 1", "dilation 1");
  if (conv.groups != 1)
    return refuse(Kind::convolution, fmt::format("{} groups", conv.groups), "1 group");
  // Outputs that see nothing but padding are exactly what the chain makes of zero; a transformed
  // tile would leave a rounding error there.
  const auto wide = [](std::int64_t padding) { return padding > 2; };
  if (std::ranges::any_of(op.pad_lo, wide) || std::ranges::any_of(op.pad_hi, wide))
    return refuse(Kind::convolution, "padding above 2", "padding of 2 at most");
  return std::nullopt;
}

// Cycles, from timings on one core of a Zen 4.
constexpr double kPerProduct = 1.1;     // a multiply-add of vectors
constexpr double kPerDirectSum = 1.05;  // the same in direct convolution
constexpr double kPerCall = 100;        // of a product kernel
// Transforming and storing 16 channels of a tile, either way.
constexpr double kPerTransform = 350, kPerTurnedTransform = 600;

// Bytes per cycle that weights of this size stream at: from the second-level cache, the third, or
// behind it.
double stream_rate(double bytes) { return bytes < 512e3 ? 32 : bytes < 16e6 ? 12 : 6; }

// Taps inside the image, which are all that direct convolution multiplies.
std::int64_t taps_of_axis(const ConvGeometry& conv, int axis) {
  std::int64_t taps = 0;
  for (std::int64_t i = 0; i < conv.output.len[static_cast<std::size_t>(axis) + 2]; ++i)
    taps += taps_inside(conv, axis, i).count;
  return taps;
}

}  // namespace

std::optional<WinogradRefusal> winograd_refusal(const Problem& problem, const SplitChain& chain) {
  for (DType dtype : {problem.input().dtype, problem.conv()->weights.dtype, problem.output().dtype})
    if (dtype != DType::f32)
      return refuse(Kind::type, name_of(dtype), "f32 input, weights and output");
  const DirectShape shape = direct_shape(problem, chain);
  if (auto refusal = refuse_convolution(problem, shape.conv)) return refusal;
  // Below, its errors are no longer small beside those of a sum of products.
  if (shape.conv.group_inputs < kTileLanes)
    return refuse(Kind::size, fmt::format("{} input channels", shape.conv.group_inputs),
                  "16 or more");
  const std::string need = "contiguous channels (NHWC) or contiguous rows (NCHW)";
  if (shape.conv.input.stride[1] != 1 && !contiguous_along(shape.conv.input, 4))
    return refuse(Kind::layout, "neither in the input", need);
  if (auto refusal = lane_refusal(shape)) return refuse(Kind::layout, *refusal, need);
  return std::nullopt;
}

double winograd_speedup(const Problem& problem) {
  const WinogradPlan plan =
      winograd_plan(direct_shape(problem, {}), winograd_configs(problem).front());
  const ConvGeometry& conv = plan.shape.conv;
  const auto vectors = [](std::int64_t channels) {
    return static_cast<double>((channels + kTileLanes - 1) / kTileLanes);
  };
  const auto inputs = static_cast<double>(plan.inputs()), tiles = static_cast<double>(plan.tiles);
  const double outputs = vectors(plan.outputs());
  const double calls = kPositions * static_cast<double>(plan.pieces * plan.channel_tiles);
  const double products = kPositions * tiles * inputs * outputs * kPerProduct + calls * kPerCall;
  const auto weights = static_cast<double>(winograd_weight_bytes(plan));
  const std::int64_t blocks = (plan.pieces + plan.block_pieces - 1) / plan.block_pieces;
  const double stream = static_cast<double>(blocks) * weights / stream_rate(weights);
  const double transforms = tiles * (vectors(plan.inputs()) + outputs) *
                            (plan.input_channels_last() ? kPerTransform : kPerTurnedTransform);
  const double direct = static_cast<double>(conv.output.len[0] * taps_of_axis(conv, 1)) *
                        static_cast<double>(taps_of_axis(conv, 2)) * inputs * outputs *
                        kPerDirectSum;
  return direct / (std::max(products, stream) + transforms);
}

// With the weights of all positions beyond the caches, more tiles at a time pay, although the
// transformed tiles then no longer fit the second level.
std::vector<WinogradConfig> winograd_configs(const Problem& problem) {
  const WinogradPlan plan = winograd_plan(direct_shape(problem, {}), {});
  constexpr std::size_t kLargeWeights = 16 << 20;
  const std::int64_t best = winograd_weight_bytes(plan) > kLargeWeights ? 56 : 28;
  std::vector<WinogradConfig> configs{{best}};
  for (std::int64_t tiles : {14, 28, 56, 112})
    if (tiles != best && tiles - kPieceTiles < plan.tiles) configs.push_back({tiles});
  return configs;
}

}  // namespace fuseplan::cpu
