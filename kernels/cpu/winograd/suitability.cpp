// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::cpu {
namespace {

using Kind = WinogradRefusal::Kind;

WinogradRefusal refuse(Kind kind, std::string got, std::string need) {
  return {kind, std::move(got), std::move(need)};
}

/// Some output along the axis sees nothing but padding.
bool sees_only_padding(const ConvGeometry& conv, std::size_t axis) {
  const auto none_inside = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i)
      if (taps_inside(conv, axis, i).count() == 0) return true;
    return false;
  };
  // Between these the first tap is inside: dilated filters have stride 1.
  const std::int64_t end = conv.output.len[2 + axis], before = std::min(conv.pad_lo[axis], end);
  return none_inside(0, before) || none_inside(conv.input.len[2 + axis] + before, end);
}

std::optional<WinogradRefusal> refuse_dilation(const ConvGeometry& conv, Isa isa) {
  for (std::size_t axis = 1; axis < 3; ++axis)
    if (conv.dilation[axis] > 1 && conv.stride[axis] > 1)
      return refuse(Kind::convolution,
                    fmt::format("dilation {} at stride {}", conv.dilation[axis], conv.stride[axis]),
                    "stride 1 along an axis that is dilated");
  const std::int64_t most = most_winograd_dilation(isa);
  if (conv.dilation[2] > most)
    return refuse(Kind::convolution, fmt::format("dilation {} along rows", conv.dilation[2]),
                  fmt::format("up to {}", most));
  return std::nullopt;
}

std::optional<WinogradRefusal> refuse_convolution(const Problem& problem, const ConvGeometry& conv,
                                                  Isa isa) {
  const Conv& op = problem.conv()->conv;
  if (op.spatial() != 2)
    return refuse(Kind::convolution, fmt::format("{} spatial axes", op.spatial()), "2");
  if (auto refusal = refuse_dilation(conv, isa)) return refusal;
  if (conv.groups != 1)
    return refuse(Kind::convolution, fmt::format("{} groups", conv.groups), "1 group");
  if (conv.filter[1] * conv.filter[2] == 1 || winograd_axes(conv).empty())
    return refuse(Kind::convolution,
                  fmt::format("filter {}x{} at strides {}x{}", conv.filter[1], conv.filter[2],
                              conv.stride[1], conv.stride[2]),
                  "sides of 1, 3, 4, 5 or 7 taps at stride 1 or 3 at stride 2, neither 1x1 nor "
                  "7x7");
  // Outputs that see nothing but padding are exactly what the chain makes of zero; a transformed
  // tile would leave a rounding error there.
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t reach = (conv.filter[1 + axis] - 1) * conv.dilation[1 + axis];
    const bool dilated = conv.dilation[1 + axis] > 1;
    if (op.pad_lo[axis] > reach || op.pad_hi[axis] > reach ||
        (dilated && sees_only_padding(conv, 1 + axis)))
      return refuse(Kind::convolution, "outputs that see nothing but padding", "none");
  }
  return std::nullopt;
}

// Below, errors are no longer small beside those of a sum of products.
constexpr std::int64_t kFewestChannels = 16;
// Above, a block of transformed tiles is out of an instruction's reach.
constexpr std::int64_t kMostChannels = 1 << 16;

}  // namespace

std::optional<WinogradRefusal> winograd_refusal(const Problem& problem, const SplitChain& chain,
                                                Isa isa) {
  if (isa == Isa::portable) return refuse(Kind::isa, name_of(isa), "avx2 or avx512");
  for (DType dtype : {problem.input().dtype, problem.conv()->weights.dtype})
    if (!is_real(dtype))
      return refuse(Kind::type, name_of(dtype), "f32, f16 or bf16 input and weights");
  const DirectShape shape = direct_shape(problem, chain);
  if (auto refusal = refuse_convolution(problem, shape.conv, isa)) return refusal;
  const std::int64_t inputs = shape.conv.group_inputs;
  if (inputs < kFewestChannels || inputs > kMostChannels)
    return refuse(Kind::size, fmt::format("{} input channels", inputs),
                  fmt::format("{} to {}", kFewestChannels, kMostChannels));
  const std::string need = "contiguous channels (NHWC) or contiguous rows (NCHW)";
  if (shape.conv.input.stride[1] != 1 && !contiguous_along(shape.conv.input, 4))
    return refuse(Kind::layout, "neither in the input", need);
  if (auto refusal = lane_refusal(shape.tensors())) return refuse(Kind::layout, *refusal, need);
  return std::nullopt;
}

}  // namespace fuseplan::cpu
