// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/tuning.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/int8/tile_emitter.hpp"

namespace fuseplan::cpu {
namespace {

struct TileSize {
  int pixels, vectors;
};
constexpr TileSize kSizes[] = {{14, 2}, {9, 3}, {6, 4}, {28, 1}, {6, 2}, {4, 3}, {14, 1}, {12, 1}};

// What a window's input and output may take of a second-level cache of 1 MB.
constexpr std::int64_t kWindowBytes = 256 << 10;

/// Pixels of the tiles that a plane is cut into, in how many of each.
struct Cut {
  double tiles, pixels;
};
Cut cut_of(const View& output, int pixels) {
  const std::int64_t width = output.len[4], height = output.len[3];
  const std::int64_t rows = std::clamp<std::int64_t>(pixels / width, 1, height);
  const double all = static_cast<double>(width * height);
  const double tiles = rows > 1 ? static_cast<double>(ceil_div(height, rows))
                                : static_cast<double>(height * ceil_div(width, pixels));
  return {tiles, all / tiles};
}

/// Of the taps of all outputs along an axis, those that stand inside the image.
double share_inside(const ConvGeometry& conv, std::size_t axis) {
  const std::int64_t outputs = conv.output.len[axis + 2], taps = conv.filter[axis];
  const std::int64_t stride = conv.stride[axis], length = conv.input.len[axis + 2];
  std::int64_t inside = 0;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    // Outputs o with 0 <= o * stride + at < length. Below 0, any rounding gives no more than 0.
    const std::int64_t at = tap * conv.dilation[axis] - conv.pad_lo[axis];
    const std::int64_t first = std::clamp<std::int64_t>(ceil_div(-at, stride), 0, outputs);
    const std::int64_t end = std::clamp<std::int64_t>(ceil_div(length - at, stride), 0, outputs);
    inside += std::max<std::int64_t>(0, end - first);
  }
  return static_cast<double>(inside) / static_cast<double>(outputs * taps);
}

/// Of the products of tiles of `pixels`, those that are summed: whole rows leave out taps that
/// stand on padding, if these add nothing.
double share_summed(const DirectShape& shape, DotKind dot, int pixels) {
  const bool adds_nothing = dot == DotKind::pairs || shape.input == DType::u8;
  if (!adds_nothing || pixels < shape.conv.output.len[4]) return 1;
  return share_inside(shape.conv, 1) * share_inside(shape.conv, 2);
}

/// Cost of one plane in cycles: a multiply-add or a load each, whichever there are more of, and
/// what a tile costs besides. Cores with AVX2 do two of both in a cycle, and wait as long in it.
double plane_cost(const DirectShape& shape, Isa isa, DotKind dot, TileSize size) {
  const ConvGeometry& conv = shape.conv;
  const double lanes = static_cast<double>(ceil_div(conv.group_inputs * shape.taps(),
                                                    dot == DotKind::quads ? 4 : 2)) *
                       share_summed(shape, dot, size.pixels);
  const std::int64_t all = ceil_div(conv.group_outputs, lanes_of(isa));
  const Cut cut = cut_of(conv.output, size.pixels);
  const auto cost = [&](std::int64_t vectors) {
    const double products = cut.pixels * static_cast<double>(vectors);
    const double loads = cut.pixels + static_cast<double>(vectors);
    constexpr double kCall = 40, kStore = 4;
    const double in_flight = isa == Isa::avx2 && dot == DotKind::quads ? 9 : 5;
    return std::max({products, loads, in_flight}) * lanes + kCall + kStore * products;
  };
  const std::int64_t full = all / size.vectors, tail = all % size.vectors;
  return cut.tiles * (static_cast<double>(full) * cost(size.vectors) + (tail > 0 ? cost(tail) : 0));
}

std::int64_t block_of(const DirectShape& shape) {
  const ConvGeometry& conv = shape.conv;
  const std::int64_t per_pixel =
      conv.group_inputs * conv.stride[1] * conv.stride[2] +
      conv.group_outputs * static_cast<std::int64_t>(size_of(shape.output));
  return std::max<std::int64_t>(1, kWindowBytes / per_pixel);
}

}  // namespace

std::vector<ByteConfig> byte_tuning_space(const DirectShape& shape, Isa isa, DotKind dot) {
  const std::int64_t vectors = ceil_div(shape.conv.group_outputs, lanes_of(isa));
  std::vector<TileSize> sizes;
  for (const TileSize size : kSizes)
    if (byte_tile_fits(isa, dot, size.pixels, size.vectors) && size.vectors <= vectors)
      sizes.push_back(size);
  // What the model cannot tell apart is decided by the order of the table.
  const auto cost = [&](TileSize size) { return plane_cost(shape, isa, dot, size); };
  constexpr double kSame = 1.02;
  const double bound = kSame * cost(std::ranges::min(sizes, {}, cost));
  const auto first =
      std::ranges::find_if(sizes, [&](TileSize size) { return cost(size) <= bound; });
  std::rotate(sizes.begin(), first, first + 1);
  std::vector<ByteConfig> configs;
  for (const TileSize size : sizes) configs.push_back({size.pixels, size.vectors, block_of(shape)});
  return configs;
}

}  // namespace fuseplan::cpu
