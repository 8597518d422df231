// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/tuning.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/staged_axis.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

// Of caches of 48 KB and 2 MB: what a pair of tiles' input may take of the first level beside the
// weights that stream past it, and a window's input of the second; and how many weights the second
// keeps from one window to the next.
constexpr std::int64_t kNearBytes = 16 << 10, kWindowBytes = 768 << 10, kKeptBytes = 768 << 10;

/// Of an output pixel, in place or as it is staged.
std::int64_t input_bytes(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  const bool joined = joining_saves(shape, product) && !taps_are_neighbours(shape, product);
  const std::int64_t columns = joined ? conv.filter[2] : staged_step(conv, 2);
  const std::int64_t bytes =
      conv.group_inputs * columns * traits_of(product).element * traits_of(product).pieces;
  return staged_step(conv, 1) * (joined ? round_up(bytes, kTileBytes) : bytes);
}

/// Pixels whose output lies in so few pages that hardware, which follows some 32 of them, asks for
/// the next channels' lines in time. That matters where the output is more than the second-level
/// cache keeps beside the rest: 64 to 256 channels at 56 x 56 pixels, batch 16, and 128 to 512 at
/// 28 x 28, batch 1, took 10 % less. Where a stride spreads the input over as many pages, 256 to
/// 512 channels at 28 x 28 pixels took 25 % more.
std::int64_t pixels_in_few_pages(const DirectShape& shape) {
  constexpr std::int64_t kLarge = 1536 << 10, kFewPages = 64 << 10, kFewest = 64;
  const View& output = shape.conv.output;
  const std::int64_t pixel = output.len[1] * static_cast<std::int64_t>(size_of(shape.output));
  const bool is_large = output.len[0] * output.pixels() * pixel > kLarge;
  const bool by_pixel = shape.tensors().lane_axis == 1;
  return is_large && by_pixel ? std::max(kFewest, kFewPages / pixel) : output.pixels();
}

/// Windows are small where weights stay near, so that input and output stay nearer; otherwise they
/// are as large as the second-level cache allows.
std::int64_t block_of(const DirectShape& shape, Product product, const TileGrid& grid) {
  const std::int64_t pixel = input_bytes(shape, product);
  // Windows of all groups over the same pixels follow one another where weights stay.
  const bool follow = is_pointwise(shape.conv) && weights_stay(shape, product);
  const std::int64_t together = follow ? shape.conv.groups : 1;
  const std::int64_t block = std::max<std::int64_t>(1, kWindowBytes / pixel / together);
  // Wide kernels write whole lines at a time, which need not be asked for, and keep weights in the
  // first level.
  if (grid == kWideGrid || weight_bytes(shape, product) > kKeptBytes) return block;
  if (reads_in_place(shape, product))
    return std::max<std::int64_t>(grid.rows(), kNearBytes / pixel / grid.rows() * grid.rows());
  // Windows of larger filters overlap, and those of strided ones gain nothing.
  return is_pointwise(shape.conv) ? std::min(block, pixels_in_few_pages(shape)) : block;
}

/// Whether wide kernels have as many channels as they take, along vectors.
bool fills_wide(const DirectShape& shape) {
  return shape.tensors().lane_axis == 1 && shape.conv.group_outputs >= kWideGrid.lanes();
}

/// Wide kernels load weights twice as often as input. In the first-level cache, all pixels of a
/// window find them there, and half as much input comes from the second as a square's operands. Of
/// bytes, they write whole lines: that is worth it as well where sums are short, or where a
/// square's 32 pixels of output lie so far apart that they crowd each other out of that cache.
bool prefers_wide(const DirectShape& shape, Product product) {
  constexpr std::int64_t kShortBytes = 256, kNearSumBytes = 512, kFarApart = 1024;
  if (!fills_wide(shape)) return false;
  const ConvGeometry& conv = shape.conv;
  const std::int64_t sum = conv.group_inputs * shape.taps() * traits_of(product).element;
  if (reads_in_place(shape, product) && kWideGrid.lanes() * sum <= kNearWeights) return true;
  return is_byte(shape.output) &&
         (sum <= kShortBytes || (sum <= kNearSumBytes && conv.output.len[1] >= kFarApart));
}

/// One call of tall kernels sums a whole plane, or close to it.
bool is_small(const DirectShape& shape, Product product) {
  const View& output = shape.conv.output;
  return (output.len[3] - 1) * (output.len[4] + gap_columns(shape, product)) + output.len[4] <=
         kTallGrid.rows();
}

/// One tile of channels holds all outputs: squares would be half empty, and no strip could wait.
bool is_narrow(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  return conv.groups == 1 && conv.group_outputs <= kTileLanes && !reads_in_place(shape, product) &&
         !traits_of(product).is_split() && !is_small(shape, product);
}

/// Whether a window has room for several images: those use the weights one after another.
bool shares_windows(const DirectShape& shape, Product product) {
  const std::int64_t room = std::max<std::int64_t>(1, kWindowBytes / input_bytes(shape, product));
  return images_of_window(shape, product, room) > 1;
}

/// Small planes use weights a few times only: where they come from behind the second-level cache,
/// tall kernels read them once.
bool prefers_tall(const DirectShape& shape, Product product) {
  if (is_narrow(shape, product)) return true;
  return traits_of(product).is_split() && shape.taps() > 1 && is_small(shape, product) &&
         !shares_windows(shape, product) && !weights_stay(shape, product);
}

/// A filter too large for the first-level cache comes from the second for each strip, so strips are
/// long: three tiles of pixels. With strides their input would not be in the first level when it is
/// loaded again, and small planes leave much of the third tile unused.
bool prefers_large(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  const std::int64_t weights = conv.group_inputs * shape.taps() * traits_of(product).element *
                               std::min<std::int64_t>(conv.group_outputs, kLargeGrid.lanes());
  return !traits_of(product).is_split() && shape.taps() > 1 && weights > kNearWeights &&
         std::ranges::all_of(conv.stride, [](std::int64_t stride) { return stride == 1; }) &&
         !is_small(shape, product) && !shares_windows(shape, product);
}

TileGrid grid_of(const DirectShape& shape, Product product) {
  if (prefers_wide(shape, product)) return kWideGrid;
  if (prefers_tall(shape, product)) return kTallGrid;
  return prefers_large(shape, product) ? kLargeGrid : kSquareGrid;
}

}  // namespace

bool prefers_planes(const DirectShape& shape, Product product) {
  const ConvGeometry& conv = shape.conv;
  return shape.taps() == 1 && conv.stride[1] == 1 && conv.stride[2] == 1 &&
         conv.output.len[3] * conv.output.len[4] >= kLargeImage &&
         conv.output.len[4] >= kTileRows && lies_by_plane(shape, product);
}

std::vector<MatrixConfig> matrix_tuning_space(const DirectShape& shape, Product product) {
  std::vector<MatrixConfig> configs;
  const auto add = [&](const MatrixConfig& config) {
    if (std::ranges::find(configs, config) == configs.end()) configs.push_back(config);
  };
  const bool in_place = reads_in_place(shape, product), joined = joining_saves(shape, product);
  const bool planes = !joined && lies_by_plane(shape, product);
  const auto add_all = [&](std::int64_t block, const TileGrid& grid) {
    const MatrixConfig by_plane{.block = block, .staged = true, .by_plane = true};
    if (prefers_planes(shape, product)) add(by_plane);
    if (in_place && grid != kTallGrid) add({.block = block, .grid = grid});
    add({.block = block, .staged = true, .joined = joined, .grid = grid});
    if (grid != kTallGrid && grid != kLargeGrid)
      add({.block = block, .staged = true, .joined = joined, .by_row = true, .grid = grid});
    if (planes) add(by_plane);
  };
  const TileGrid grid = grid_of(shape, product);
  add_all(block_of(shape, product, grid), grid);
  for (const std::int64_t block : {64, 512, 4096}) add_all(block, grid);
  const auto add_other = [&](const TileGrid& other) {
    if (grid != other) add_all(block_of(shape, product, other), other);
  };
  add_other(kSquareGrid);
  if (fills_wide(shape) && !traits_of(product).is_split()) add_other(kWideGrid);
  if (is_small(shape, product) || is_narrow(shape, product)) add_other(kTallGrid);
  if (!traits_of(product).is_split()) add_other(kLargeGrid);
  return configs;
}

}  // namespace fuseplan::cpu
