// SPDX-License-Identifier: MIT
// Which tiles there are on Hopper, and the model of time that orders them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/integer.hpp"
#include "kernels/gpu/hopper_shape.hpp"

namespace fuseplan::gpu {
namespace {

using cpu::ConvGeometry;

constexpr HopperTile kTiles[] = {{128, 256}, {256, 128}, {128, 192},
                                 {128, 128}, {256, 64},  kSmallestHopperTile};
constexpr std::int64_t kDepth = 64;  ///< of a step in 16 bits
constexpr int kGatheredRows = 128;   ///< of a tile whose pixels threads gather
// Of an H200, in cycles, fitted to the times of all tiles of ten layers in NHWC, and to those of
// three tiles of six in NCHW.
constexpr double kMultiprocessors = 132, kProductsPerCycle = 1700, kCyclesPerStep = 110;
constexpr double kCyclesToFill = 250, kFinishedPerCycle = 8.3, kFinishedPerCycleInPlanes = 5;
// What gathering adds to a step, of pairs of pixels: of taps that read what others have read, and
// of one. Pixel by pixel it takes more, by warpgroups that gather.
constexpr double kCyclesToGatherTaps = 360, kCyclesToGatherOneTap = 800;
constexpr double kPixelByPixel[] = {1, 2.2, 1.4};

std::int64_t tile_count(const ConvGeometry& g, const HopperTile& tile) {
  return ceil_div(g.output.len[0] * g.output.pixels(), tile.m) * ceil_div(g.group_outputs, tile.n);
}

/// Cycles of a launch: tiles run in waves, each as long as its products, what gathering adds to
/// them, and then its chain and stores, which nothing hides. A step of half as many values in f32
/// takes the tensor cores as long as one in 16 bits.
double cost(const Problem& problem, const SplitChain& chain, HopperFeed feed,
            const HopperTile& tile) {
  const HopperConv conv = hopper_conv(problem, chain);
  const ConvGeometry& g = conv.geometry;
  const HopperShape shape = hopper_shape(problem, chain, feed, tile);
  const double waves = std::ceil(static_cast<double>(tile_count(g, tile)) / kMultiprocessors);
  double step = static_cast<double>(tile.m) * tile.n * kDepth / kProductsPerCycle + kCyclesPerStep;
  if (feed == HopperFeed::threads)
    step += (g.filter[1] * g.filter[2] == 1 ? kCyclesToGatherOneTap : kCyclesToGatherTaps) *
            (shape.pairs ? 1.0 : kPixelByPixel[shape.producers]);
  // Along planes, channels that a tile has too many are left out.
  const bool planes = shape.store == HopperStore::planes;
  const double columns =
      planes ? static_cast<double>(std::min<std::int64_t>(tile.n, g.group_outputs)) : tile.n;
  const double finish = tile.m * columns / (planes ? kFinishedPerCycleInPlanes : kFinishedPerCycle);
  return waves * (static_cast<double>(hopper_steps(conv, feed, problem.input().dtype)) * step +
                  kCyclesToFill + finish);
}

}  // namespace

bool hopper_fills_device(const Problem& problem) {
  return static_cast<double>(tile_count(hopper_conv(problem, {}).geometry, kSmallestHopperTile)) >=
         kMultiprocessors / 2;
}

std::vector<HopperTile> hopper_tiles(const Problem& problem, const SplitChain& chain,
                                     HopperFeed feed) {
  std::vector<HopperTile> tiles(std::begin(kTiles), std::end(kTiles));
  const bool is_packed = hopper_conv(problem, chain).packed > 0;
  std::erase_if(tiles, [&](const HopperTile& tile) {
    return hopper_shape(problem, chain, feed, tile).stages < kFewestHopperStages ||
           (feed == HopperFeed::threads && tile.m != kGatheredRows) ||
           (is_packed && tile.n != kSmallestHopperTile.n);
  });
  std::ranges::stable_sort(
      tiles, {}, [&](const HopperTile& tile) { return cost(problem, chain, feed, tile); });
  return tiles;
}

std::string to_text(const HopperTile& tile) { return fmt::format("{}x{}", tile.m, tile.n); }

std::optional<HopperTile> parse_hopper_tile(std::string_view text) {
  for (const HopperTile& tile : kTiles)
    if (to_text(tile) == text) return tile;
  return std::nullopt;
}

}  // namespace fuseplan::gpu
