// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/tuning.hpp"

#include <algorithm>
#include <ranges>

#include "base/integer.hpp"
#include "kernels/cpu/int8/tile_emitter.hpp"

namespace fuseplan::cpu {
namespace {

struct TileSize {
  int pixels, vectors;
};
constexpr TileSize kSizes[] = {{14, 2}, {9, 3}, {6, 4}, {28, 1}, {6, 2}, {12, 1}};

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

/// Cost of one plane in cycles: a multiply-add or a load each, whichever there are more of, and
/// what a tile costs besides.
double plane_cost(const DirectShape& shape, Isa isa, DotKind dot, TileSize size) {
  const ConvGeometry& conv = shape.conv;
  const double lanes = static_cast<double>(
      ceil_div(conv.group_inputs * shape.taps(), dot == DotKind::quads ? 4 : 2));
  const std::int64_t all = ceil_div(conv.group_outputs, lanes_of(isa));
  const Cut cut = cut_of(conv.output, size.pixels);
  const auto cost = [&](std::int64_t vectors) {
    const double products = cut.pixels * static_cast<double>(vectors);
    const double loads = cut.pixels + static_cast<double>(vectors);
    constexpr double kCall = 40, kStore = 4, kInFlight = 5;
    return std::max({products, loads, kInFlight}) * lanes + kCall + kStore * products;
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
  const double bound = kSame * std::ranges::min(sizes | std::views::transform(cost));
  const auto first =
      std::ranges::find_if(sizes, [&](TileSize size) { return cost(size) <= bound; });
  std::rotate(sizes.begin(), first, first + 1);
  std::vector<ByteConfig> configs;
  for (const TileSize size : sizes) configs.push_back({size.pixels, size.vectors, block_of(shape)});
  return configs;
}

}  // namespace fuseplan::cpu
