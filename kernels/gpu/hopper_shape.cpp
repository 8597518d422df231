// SPDX-License-Identifier: MIT
#include "kernels/gpu/hopper_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/integer.hpp"
#include "kernels/gpu/conv_source.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::ConvGeometry;
using cpu::View;

constexpr std::int64_t kDepth = 64;  ///< of a step in 16 bits
constexpr int kMostShared = 227 << 10, kMostStages = 8;
/// Two warpgroups that gather leave registers for the sums of tiles so wide.
constexpr int kWidestOfTwo = 128;
constexpr int kRowBytes = 128, kProductBytes = 32, kBoxes = 4, kBoxRows = 64, kBarrierBytes = 16;
constexpr int kPlanesBytes = 2 * 32 * 68 * 4;  // FP_BYTES_PLANES
// What copies of four axes can express.
constexpr std::int64_t kLowestCorner = -128, kHighestCorner = 127, kMostStep = 8, kMostTap = 255;
// Of what is gathered: a thread has registers for so many taps along an axis, and offsets within a
// step have 32 bits.
constexpr std::int64_t kMostTaps = 7, kMostReach = (std::int64_t{1} << 32) - 1;
constexpr std::int64_t kMostWords = 64;  ///< that a thread has on their way
constexpr std::int64_t kTogether = 8;    ///< values of 16 bytes, at whose multiples copies start

/// Fills in lengths and strides of axes outside the innermost. An axis of length 1 is never walked
/// along: its stride is one that the rules for strides like.
void set_axes(TensorMap& map, std::initializer_list<std::pair<std::int64_t, std::int64_t>> axes) {
  const auto bytes = static_cast<std::int64_t>(size_of(map.dtype));
  std::int64_t next = ceil_div(static_cast<std::int64_t>(map.length[0]) * bytes, 16) * 16;
  for (const auto& [length, stride] : axes) {
    const std::int64_t step = length == 1 ? next : stride * bytes;
    map.length[map.rank] = static_cast<std::uint64_t>(length);
    map.stride[map.rank++ - 1] = static_cast<std::uint64_t>(step);
    next = step * length;
  }
}

/// Values of a row in shared memory.
std::int64_t row_values(DType dtype) {
  return kRowBytes / static_cast<std::int64_t>(size_of(dtype));
}

TensorMap map_of(DType dtype, std::int64_t innermost) {
  TensorMap map;
  map.dtype = dtype;
  map.length[0] = static_cast<std::uint64_t>(innermost);
  map.rank = 1;
  return map;
}

/// Corners of the box in which the first tap's pixels run: from the image's first and last one.
std::int64_t upper_corner(const ConvGeometry& g, std::size_t axis) {
  return (g.output.len[axis + 2] - 1) * g.stride[axis] - g.pad_lo[axis] -
         (g.input.len[axis + 2] - 1);
}

std::optional<std::string> strides_refusal(const char* what, const TensorMap& map) {
  std::uint64_t before = 16;
  for (unsigned axis = 0; axis + 1 < map.rank; ++axis) {
    if (map.stride[axis] % 16 != 0 || map.stride[axis] % before != 0)
      return fmt::format("a stride of {} bytes in the {}, which is no multiple of {}",
                         map.stride[axis], what, before);
    before = map.stride[axis];
  }
  return std::nullopt;
}

HopperStore store_of(const ConvGeometry& g, DType dtype) {
  const auto stride = pixel_stride(g.output);
  if ((dtype == DType::f16 || dtype == DType::bf16) && stride && *stride % 8 == 0 &&
      cpu::contiguous_along(g.output, 1) && g.group_outputs % 8 == 0)
    return HopperStore::copies;
  return g.output.stride[4] < g.output.stride[1] ? HopperStore::planes : HopperStore::threads;
}

/// Whether `count` neighbours along the axis lie together wherever the first one's place is a
/// multiple of `count`: pixels, which then are of one image, or channels.
bool lie_together(const View& view, std::size_t axis, std::int64_t count) {
  const bool pixels = axis == 4;
  for (std::size_t other : {0, 1, 3, 4})
    if (other != axis && !(pixels && other == 3) && view.len[other] > 1 &&
        view.stride[other] % count != 0)
      return false;
  if (pixels && view.len[3] > 1 && view.stride[3] != view.len[4]) return false;
  return view.stride[axis] == 1 && (pixels ? view.pixels() : view.len[axis]) % count == 0;
}

int stored_together(const View& output, DType dtype, HopperStore store) {
  if (store == HopperStore::planes)
    for (int count : {4, 2})
      if (lie_together(output, 4, count)) return count;
  const bool pairs = store == HopperStore::threads && dtype == DType::f32;
  return pairs && lie_together(output, 1, 2) ? 2 : 1;
}

}  // namespace

std::optional<std::int64_t> pixel_stride(const View& view) {
  std::optional<std::int64_t> first;
  std::int64_t next = 0;
  for (std::size_t axis : {4, 3, 0}) {
    if (view.len[axis] == 1) continue;
    if (first && view.stride[axis] != next) return std::nullopt;
    if (!first) first = view.stride[axis];
    next = view.stride[axis] * view.len[axis];
  }
  return first.value_or(ceil_div(view.len[1], 8) * 8);
}

HopperConv hopper_conv(const Problem& problem, const SplitChain& chain) {
  HopperConv conv{ConvShape(problem, chain)};
  ConvGeometry& g = conv.geometry;
  if (g.groups == 1) return conv;
  conv.packed = g.group_inputs;
  g.group_inputs *= g.groups;
  g.group_outputs *= g.groups;
  g.groups = 1;
  return conv;
}

HopperGather hopper_gather(const HopperConv& shape) {
  const ConvGeometry& g = shape.geometry;
  const std::int64_t taps = g.filter[1] * g.filter[2];
  HopperGather gather;
  for (gather.channels = std::min(g.group_inputs, kDepth / taps);; --gather.channels) {
    gather.values = gather.channels * taps;
    if (hopper_keeps_filters(shape, HopperFeed::threads) || gather.channels == g.group_inputs)
      break;
    gather.shift_unit = std::gcd(gather.values, kTogether);
    gather.values += kTogether - gather.shift_unit;
    if (gather.values <= kDepth) break;
  }
  return gather;
}

namespace {

/// As far as lengths and strides decide it.
bool may_gather_pairs(const HopperConv& shape) {
  const ConvGeometry& g = shape.geometry;
  for (std::size_t axis : {0, 1, 3})
    if (g.input.len[axis] > 1 && g.input.stride[axis] % 2 != 0) return false;
  const std::int64_t row_words = (g.pad_lo[2] % 2 + g.filter[2] + 2) / 2;  // FP_WORDS
  return g.stride[2] == 1 && g.dilation[2] == 1 && g.input.stride[4] == 1 &&
         g.input.len[4] % 2 == 0 && g.output.len[4] % 2 == 0 &&
         hopper_gather(shape).channels * g.filter[1] * row_words <= kMostWords;
}

}  // namespace

std::int64_t hopper_steps(const HopperConv& shape, HopperFeed feed, DType input) {
  const ConvGeometry& g = shape.geometry;
  if (feed == HopperFeed::threads) return ceil_div(g.group_inputs, hopper_gather(shape).channels);
  return g.filter[1] * g.filter[2] *
         ceil_div(shape.packed > 0 ? kSmallestHopperTile.n : g.group_inputs, row_values(input));
}

std::int64_t hopper_products(const HopperConv& shape, HopperFeed feed, DType input) {
  return ceil_div(feed == HopperFeed::copies
                      ? std::min(shape.geometry.group_inputs, row_values(input))
                      : hopper_gather(shape).values,
                  kProductBytes / static_cast<std::int64_t>(size_of(input)));
}

bool hopper_keeps_filters(const HopperConv& shape, HopperFeed feed) {
  if (feed == HopperFeed::copies) return shape.packed > 0;
  const ConvGeometry& g = shape.geometry;
  const bool in_order = shape.taps_inner() || g.filter[1] * g.filter[2] == 1;
  return !in_order || !shape.dense_filters() || g.weight_stride[0] % kTogether != 0;
}

std::int64_t hopper_filter_rows(const HopperConv& shape, const HopperTile& tile) {
  return shape.packed > 0 ? tile.n : ceil_div(shape.geometry.group_outputs, tile.n) * tile.n;
}

namespace {

bool has_wide_filters(const HopperConv& conv, DType dtype) {
  const auto each = static_cast<std::int64_t>(16 / size_of(dtype));
  const auto& stride = conv.geometry.weight_stride;
  return conv.packed > 0 && dtype != DType::f32 && conv.packed % each == 0 && stride[1] == 1 &&
         stride[0] % each == 0 && stride[3] % each == 0 && stride[4] % each == 0;
}

}  // namespace

HopperShape hopper_shape(const Problem& problem, const SplitChain& chain, HopperFeed feed,
                         const HopperTile& tile) {
  const HopperConv conv = hopper_conv(problem, chain);
  const bool gathers = feed == HopperFeed::threads;
  const bool stay = hopper_keeps_filters(conv, feed);
  HopperShape shape;
  shape.store = store_of(conv.geometry, problem.output().dtype);
  shape.together = stored_together(conv.geometry.output, problem.output().dtype, shape.store);
  shape.wide_filters = has_wide_filters(conv, problem.input().dtype);
  shape.producers = gathers && tile.n <= kWidestOfTwo ? 2 : 1;
  constexpr int kResults[] = {0, kBoxes * kBoxRows * kRowBytes, kPlanesBytes};
  const std::int64_t stage = (tile.m + (stay ? 0 : tile.n)) * kRowBytes + kBarrierBytes;
  const std::int64_t filters = stay ? hopper_steps(conv, feed, problem.input().dtype) *
                                          hopper_filter_rows(conv, tile) * kRowBytes
                                    : 0;
  const std::int64_t fixed = filters + kResults[static_cast<int>(shape.store)] +
                             static_cast<std::int64_t>(chain.channels.roots.size()) * tile.n * 4;
  shape.stages = static_cast<int>(
      std::clamp((kMostShared - fixed) / stage, std::int64_t{0}, std::int64_t{kMostStages}));
  shape.shared_bytes = static_cast<unsigned>(fixed + shape.stages * stage);
  // Two groups of threads in each warpgroup, then.
  shape.pairs = gathers && may_gather_pairs(conv) && shape.stages >= 2 * shape.producers;
  return shape;
}

TensorMap hopper_input_map(const ConvGeometry& g, DType dtype, int pixels) {
  TensorMap map = map_of(dtype, g.group_inputs);
  set_axes(map, {{g.input.len[4], g.input.stride[4]},
                 {g.input.len[3], g.input.stride[3]},
                 {g.input.len[0], g.input.stride[0]}});
  map.step = {1, static_cast<std::uint32_t>(g.stride[2]), static_cast<std::uint32_t>(g.stride[1]),
              1};
  map.im2col = true;
  map.channels = static_cast<std::uint32_t>(row_values(dtype));
  map.pixels = static_cast<std::uint32_t>(pixels);
  for (std::size_t i : {0, 1}) {  // width first
    map.lower[i] = static_cast<int>(-g.pad_lo[2 - i]);
    map.upper[i] = static_cast<int>(upper_corner(g, 2 - i));
  }
  return map;
}

TensorMap hopper_weight_map(const ConvGeometry& g, DType dtype, HopperFeed feed, int channels) {
  if (feed == HopperFeed::threads) {
    TensorMap map = map_of(dtype, g.filter[1] * g.filter[2] * g.group_inputs);
    set_axes(map, {{g.group_outputs, g.weight_stride[0]}, {1, 0}, {1, 0}});
    map.box = {kDepth, static_cast<std::uint32_t>(channels), 1, 1};
    return map;
  }
  TensorMap map = map_of(dtype, g.group_inputs);
  set_axes(map, {{g.filter[2], g.weight_stride[4]},
                 {g.filter[1], g.weight_stride[3]},
                 {g.group_outputs, g.weight_stride[0]}});
  map.box = {static_cast<std::uint32_t>(row_values(dtype)), 1, 1,
             static_cast<std::uint32_t>(channels)};
  return map;
}

TensorMap hopper_output_map(const ConvGeometry& g, DType dtype) {
  TensorMap map = map_of(dtype, g.group_outputs);
  set_axes(map, {{g.output.len[0] * g.output.pixels(), pixel_stride(g.output).value_or(0)}});
  map.box = {kDepth, kBoxRows, 1, 1};
  return map;
}

std::optional<std::string> hopper_layout_refusal(const Problem& problem) {
  const HopperConv conv = hopper_conv(problem, {});
  const ConvGeometry& g = conv.geometry;
  if (g.input.stride[1] != 1) return "input channels that are not contiguous";
  if (conv.packed == 0 && g.weight_stride[1] != 1)
    return "a filter whose channels are not contiguous";
  if (auto refusal = strides_refusal("input", hopper_input_map(g, problem.input().dtype, 1)))
    return refusal;
  if (conv.packed > 0) return std::nullopt;
  return strides_refusal(
      "filter", hopper_weight_map(g, problem.conv()->weights.dtype, HopperFeed::copies, 1));
}

std::optional<std::string> hopper_gather_refusal(const Problem& problem) {
  const HopperConv shape = hopper_conv(problem, {});
  const ConvGeometry& g = shape.geometry;
  if (g.filter[1] > kMostTaps || g.filter[2] > kMostTaps)
    return fmt::format("one of {} x {} taps", g.filter[1], g.filter[2]);
  if (hopper_shape(problem, {}, HopperFeed::threads, kSmallestHopperTile).stages <
      kFewestHopperStages)
    return fmt::format(
        "{} values that do not lie as KCRS without gaps, each filter at a multiple of 8",
        g.filter[1] * g.filter[2] * g.group_inputs * g.group_outputs);
  const std::int64_t reach = (hopper_gather(shape).channels - 1) * g.input.stride[1] +
                             (g.input.len[4] - 1) * g.input.stride[4];
  if (reach > kMostReach) return fmt::format("one whose step reads from {} elements", reach + 1);
  return std::nullopt;
}

std::optional<std::string> hopper_filter_refusal(const Problem& problem) {
  const ConvGeometry g = cpu::geometry_of(problem);
  if (g.groups > 1 && hopper_shape(problem, {}, HopperFeed::copies, kSmallestHopperTile).stages <
                          kFewestHopperStages)
    return fmt::format("one of {} x {} taps in groups, whose filters fill shared memory",
                       g.filter[1], g.filter[2]);
  for (std::size_t axis : {1, 2}) {
    if (g.stride[axis] > kMostStep) return fmt::format("a stride of {}", g.stride[axis]);
    const std::int64_t reach = (g.filter[axis] - 1) * g.dilation[axis];
    if (reach > kMostTap) return fmt::format("a filter that reaches over {} pixels", reach + 1);
    for (std::int64_t corner : {-g.pad_lo[axis], upper_corner(g, axis)})
      if (corner < kLowestCorner || corner > kHighestCorner)
        return fmt::format("filter and padding that move the image's edge by {} pixels", corner);
  }
  return std::nullopt;
}

}  // namespace fuseplan::gpu
