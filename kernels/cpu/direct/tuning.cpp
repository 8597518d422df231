// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/tuning.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/integer.hpp"
#include "kernels/cpu/direct/tile_emitter.hpp"
#include "kernels/cpu/direct/variations.hpp"
#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {
namespace {

struct TileSize {
  int pixels, vectors;
};
constexpr TileSize kWideTiles[] = {{14, 2}, {9, 3}, {6, 4}, {7, 2}, {28, 1}};
constexpr TileSize kNarrowTiles[] = {{6, 2}, {4, 3}, {3, 4}, {12, 1}};

// What a block's input and a chunk's weights may take of a second-level cache of 1 MB or more.
constexpr std::int64_t kBlockBytes = 256 << 10;
constexpr std::int64_t kChunkBytes = 640 << 10;
constexpr std::int64_t kFloat = sizeof(float);

/// How a kernel reads its input: f32 channels, or pairs of bf16.
struct Reading {
  bool pairs, staged;
  std::int64_t bytes() const { return pairs ? 2 : kFloat; }  ///< of a channel of a pixel
};

std::int64_t depth_of(const DirectShape& shape, bool pairs) {
  const std::int64_t channels = shape.conv.group_inputs;
  return (pairs ? ceil_div(channels, 2) : channels) * shape.taps();
}

// Pixels whose channels lie a multiple of 4 KB apart share the 8 ways of one set of the first-level
// cache with each other and with the weights.
bool conflicts(const DirectShape& shape, const Reading& reading, double pixels) {
  if (reading.staged) return false;
  constexpr std::int64_t kSetPeriod = 4096;
  constexpr double kWays = 7;
  const ConvGeometry& conv = shape.conv;
  const std::int64_t step = conv.input.stride[4] * conv.stride[2] * reading.bytes();
  const std::int64_t places = kSetPeriod / std::gcd(step, kSetPeriod);
  return pixels / static_cast<double>(places) > kWays;
}

/// Pixels of a tile where rows are cut evenly.
std::int64_t pixels_of(const DirectShape& shape, TileSize size) {
  const std::int64_t width = shape.conv.output.len[4];
  return ceil_div(width, ceil_div(width, size.pixels));
}

/// Cost of one output row: a multiply-add or a load each, whichever there are more of, and what a
/// tile costs besides: its call, its store, its share of the chain.
double row_cost(const DirectShape& shape, const Reading& reading, Isa isa, TileSize size) {
  const std::int64_t width = shape.conv.output.len[4];
  const std::int64_t all = ceil_div(shape.conv.group_outputs, lanes_of(isa));
  const std::int64_t tiles = ceil_div(width, size.pixels);
  const double pixels = static_cast<double>(width) / static_cast<double>(tiles);
  constexpr double kMissing = 1.3;
  const double loads_wait = conflicts(shape, reading, pixels) ? kMissing : 1;
  const auto cost = [&](std::int64_t vectors) {
    const double products = pixels * static_cast<double>(vectors);
    const double loads = pixels + static_cast<double>(vectors);
    constexpr double kCall = 60, kStore = 4;
    constexpr double kInFlight = 8;  // two multiply-adds a cycle, four cycles each
    return std::max({products, loads, kInFlight}) * loads_wait *
               static_cast<double>(depth_of(shape, reading.pairs)) +
           kCall + kStore * products;
  };
  const std::int64_t full = all / size.vectors, tail = all % size.vectors;
  return static_cast<double>(tiles) *
         (static_cast<double>(full) * cost(size.vectors) + (tail > 0 ? cost(tail) : 0));
}

std::vector<TileSize> sizes_best_first(const DirectShape& shape, const Reading& reading, Isa isa) {
  const std::int64_t all = ceil_div(shape.conv.group_outputs, lanes_of(isa));
  std::vector<TileSize> sizes;
  const auto consider = [&](TileSize size) {
    if (size.vectors <= all) sizes.push_back(size);
  };
  if (isa == Isa::avx512) {
    std::ranges::for_each(kWideTiles, consider);
  } else {
    std::ranges::for_each(kNarrowTiles, consider);
  }
  // Of what the model cannot tell apart, the most pixels for each weight, then the most channels
  // for each pixel; but where each input is used once, or little is summed, and outputs are stored
  // as they are, wide tiles read and write longer runs (3 to 64 channels by 3x3 at batch 16: 18.6
  // to 16.3 ms).
  const bool by_width =
      (shape.taps() == 1 || shape.is_held_by_stores()) && shape.lanes_are_channels;
  const auto merit = [&](TileSize size) {
    return by_width ? std::pair<std::int64_t, int>{size.vectors == 4, 0}
                    : std::pair{pixels_of(shape, size), size.vectors};
  };
  const auto cost = [&](TileSize size) { return row_cost(shape, reading, isa, size); };
  constexpr double kSame = 1.02;
  const double bound = kSame * cost(std::ranges::min(sizes, {}, cost));
  std::ranges::stable_sort(sizes, std::ranges::greater{}, merit);
  const auto first =
      std::ranges::find_if(sizes, [&](TileSize size) { return cost(size) <= bound; });
  std::rotate(sizes.begin(), first, first + 1);
  return sizes;
}

std::int64_t block_of(const DirectShape& shape, const Reading& reading) {
  const ConvGeometry& conv = shape.conv;
  // Where channels are contiguous, or copied, one tap does not touch what its stride skips.
  const bool skips = reading.staged || conv.input.stride[1] == 1;
  const auto step = [&](std::size_t axis) {
    return skips ? staged_step(conv, axis) : conv.stride[axis];
  };
  // Steps may be as long as 2^30.
  const double read = static_cast<double>(conv.group_inputs * reading.bytes()) *
                      static_cast<double>(step(1)) * static_cast<double>(step(2));
  const bool stores = shape.is_held_by_stores() && shape.lanes_are_channels;
  const auto stored =
      static_cast<double>(conv.group_outputs) * static_cast<double>(size_of(shape.output));
  const double per_pixel = read + (stores ? stored : 0);
  const auto block =
      static_cast<std::int64_t>(std::max(1.0, static_cast<double>(kBlockBytes) / per_pixel));
  // A pair of channels' weights is as long as one of f32.
  const std::int64_t weights =
      depth_of(shape, reading.pairs) * kFloat * conv.group_outputs * conv.groups;
  const std::int64_t plane = conv.output.len[3] * conv.output.len[4];
  // Then a plane is one block even if it takes twice that.
  return weights > kKeptWeightBytes && plane <= 2 * block ? std::max(plane, block) : block;
}

std::int64_t chunk_of(const DirectShape& shape, const Reading& reading, Isa isa, int vectors) {
  const std::int64_t per_channel = shape.taps() * vectors * lanes_of(isa) * reading.bytes();
  const std::int64_t most = std::max<std::int64_t>(16, kChunkBytes / per_channel);
  return ceil_div(shape.conv.group_inputs, ceil_div(shape.conv.group_inputs, most));
}

void add_configs(const DirectShape& shape, const Reading& reading, Isa isa,
                 std::vector<DirectConfig>& configs) {
  for (const TileSize size : sizes_best_first(shape, reading, isa))
    configs.push_back({size.pixels, size.vectors, block_of(shape, reading),
                       chunk_of(shape, reading, isa, size.vectors), reading.staged, reading.pairs});
}

/// The same with pixels that would crowd each other out of the first-level cache copied first, a
/// chunk of their channels at a time: blocks are as large as that allows.
std::vector<DirectConfig> uncrowded_configs(const DirectShape& shape, Isa isa) {
  std::vector<DirectConfig> configs;
  add_configs(shape, {.pairs = false, .staged = true}, isa, configs);
  for (DirectConfig& config : configs)
    config.block = config.block * shape.conv.group_inputs / config.chunk;
  return configs;
}

/// Neighbouring pixels are multiples of 4 KB apart, and read by several taps. Where only those that
/// a stride picks are, what lies between is copied for nothing: 512 to 512 channels by 3x3 at 14 x
/// 14 take 1.1 of the time so.
bool is_crowded(const DirectShape& shape) {
  constexpr std::int64_t kSetPeriod = 4096;
  return shape.taps() > 1 && shape.conv.groups == 1 &&
         shape.conv.input.stride[4] * kFloat % kSetPeriod == 0;
}

/// Whether that takes less than it gains, about a fifth of the products: a block's taps may reach
/// over many pixels that none of them stands on. 2048 to 256 channels by 3x3 at 33 x 33 pixels with
/// dilation 6, 12 and 18 take 0.79, 0.90 and 1.07 of the time so.
bool copying_pays(const DirectShape& shape, std::int64_t block) {
  constexpr double kCopied = 1.5, kGained = 0.2;  // products of a pixel, a channel at a time
  const ConvGeometry& conv = shape.conv;
  const View& output = conv.output;
  const std::int64_t columns = std::min(block, output.len[4]);
  const std::int64_t rows = std::clamp<std::int64_t>(block / output.len[4], 1, output.len[3]);
  const double copied =
      static_cast<double>(staged_length(conv, 1, rows)) / static_cast<double>(rows) *
      static_cast<double>(staged_length(conv, 2, columns)) / static_cast<double>(columns);
  const auto vectors = static_cast<double>(ceil_div(conv.group_outputs, lanes_of(Isa::avx512)));
  return kCopied * copied <= kGained * static_cast<double>(shape.taps()) * vectors;
}

/// Rows of each channel lie in pages of their own. Copying reads them once, line after line, and
/// pays if a few tiles of channels share the copy and a block's taps do not reach over many rows
/// that none of them stands on. Where the third level is near, lines of many pages come fast enough
/// without (3x3 at stride 2 on a Zen 5: 0.7 to 0.85 of the time).
bool shares_rows(const DirectShape& shape, std::int64_t block, const CoreRates& rates) {
  if (rates.third_level_is_near()) return false;
  constexpr std::int64_t kFew = 32, kShared = 64;
  const ConvGeometry& conv = shape.conv;
  const std::int64_t rows =
      std::clamp<std::int64_t>(block / conv.output.len[4], 1, conv.output.len[3]);
  return conv.input.stride[1] != 1 && shape.taps() > 1 && conv.group_inputs >= kFew &&
         conv.group_outputs >= kShared &&
         (conv.filter[1] - 1) * conv.dilation[1] <= rows * conv.stride[1];
}

}  // namespace

double direct_cycles(const DirectShape& shape, Isa isa, const CoreRates& rates) {
  constexpr double kPerMultiplyAdd = 0.95;  // of a product's time, as other kernels' loops take it
  const ConvGeometry& conv = shape.conv;
  return static_cast<double>(conv.output.len[0] * taps_along(conv, 1) * taps_along(conv, 2)) *
         static_cast<double>(conv.group_inputs * ceil_div(conv.group_outputs, lanes_of(isa))) *
         kPerMultiplyAdd * rates.product;
}

bool may_pair(const DirectShape& shape) {
  return shape.input == DType::bf16 && shape.weights == DType::bf16;
}

std::vector<DirectConfig> leading_configs(const DirectShape& shape, const Target& target,
                                          const CoreRates& rates) {
  std::vector<DirectConfig> configs, pairs;
  const bool in_place = shape.reads_in_place();
  Reading reading{.pairs = false, .staged = shape.input != DType::f32 || !in_place};
  reading.staged = reading.staged || shares_rows(shape, block_of(shape, reading), rates);
  if (!reading.staged && target.isa == Isa::avx512 && is_crowded(shape)) {
    std::vector<DirectConfig> copied = uncrowded_configs(shape, target.isa);
    if (copying_pays(shape, copied.front().block)) configs = std::move(copied);
  }
  add_configs(shape, reading, target.isa, configs);
  if (!target.extensions.bf16 || !may_pair(shape)) return configs;
  // Copying pays where the tensor's own strides cost more.
  const bool staged_pairs =
      !in_place || conflicts(shape, {.pairs = true, .staged = false}, kWideTiles[0].pixels);
  add_configs(shape, {.pairs = true, .staged = staged_pairs}, target.isa, pairs);
  if (in_place) add_configs(shape, {.pairs = true, .staged = !staged_pairs}, target.isa, pairs);
  const auto at = target.extensions.fast_bf16 ? configs.begin() : configs.end();
  configs.insert(at, pairs.begin(), pairs.end());
  return configs;
}

std::vector<DirectConfig> tuning_space(const DirectShape& shape, const Target& target,
                                       const CoreRates& rates) {
  return with_variations(leading_configs(shape, target, rates), shape);
}

}  // namespace fuseplan::cpu
