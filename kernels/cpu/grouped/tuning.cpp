// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/tuning.hpp"

#include <algorithm>
#include <cstddef>

#include "base/integer.hpp"
#include "kernels/cpu/grouped/tile_kernel.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::size_t kMostTiles = 16;

int chain_registers(const GroupedShape& shape) {
  return static_cast<int>(FinishNeeds::of(shape.isa, shape.finish)->registers());
}

bool tile_fits(const GroupedShape& shape, const GroupedConfig& config, int chain) {
  const int needed = shape.lanes_are_channels ? channel_tile_registers(shape, config, chain)
                                              : column_tile_registers(shape, config, chain);
  return needed <= VectorCode::count(shape.isa);
}

/// Cycles of a tile of `rows` x `columns` (or vectors of them): a cycle for each multiply-add, or
/// the loads if they take longer.
double tile_cost(const GroupedShape& shape, std::int64_t rows, std::int64_t columns,
                 bool weights_stay) {
  const ConvGeometry& g = shape.g;
  const double inputs = static_cast<double>(g.group_inputs * g.filter[0]);
  const double outputs = shape.lanes_are_channels ? 1 : shape.step;
  const double sums = outputs * static_cast<double>(rows * columns);
  const double taps = static_cast<double>(shape.taps());
  const std::int64_t input_rows = std::min(
      (rows - 1) * g.stride[1] + (g.filter[1] - 1) * g.dilation[1] + 1, rows * g.filter[1]);
  double loads, wait = 0;
  if (shape.lanes_are_channels) {
    const std::int64_t input_columns = std::min(
        (columns - 1) * g.stride[2] + (g.filter[2] - 1) * g.dilation[2] + 1, columns * g.filter[2]);
    loads = static_cast<double>(input_rows * input_columns);
    // All channels of a tile's pixels are more than the first-level cache keeps for the next tile.
    constexpr double kLine = 2;
    wait = kLine * loads;
    loads += weights_stay || rows == 1 ? taps : sums * taps;
  } else {
    const double across_lines = shape.isa == Isa::avx2 ? 1.3 : 1.7;
    const double vectors = static_cast<double>(columns * g.filter[2]);
    loads = static_cast<double>(input_rows) * vectors * across_lines * (g.stride[2] == 1 ? 1 : 1.4);
    loads += weights_stay ? taps * outputs : sums * taps / static_cast<double>(columns);
  }
  constexpr double kInFlight = 8, kFinish = 3, kTile = 12, kRow = 2, kPlane = 4;
  const double products = std::max(sums, kInFlight) * taps;
  const double plane =
      std::max(products, loads) + wait + kRow * static_cast<double>(input_rows) + kPlane;
  return inputs * plane + kFinish * sums + kTile;
}

double cost_of(const GroupedShape& shape, const GroupedConfig& config, bool weights_stay) {
  const ConvGeometry& g = shape.g;
  const std::int64_t unit = shape.lanes_are_channels ? 1 : shape.lanes();
  const std::int64_t columns = ceil_div(g.output.len[4], unit);
  const std::int64_t wide = columns / config.columns, narrow = columns % config.columns;
  const auto sweep = [&](std::int64_t rows) {
    double cost = static_cast<double>(wide) * tile_cost(shape, rows, config.columns, weights_stay);
    if (narrow > 0) cost += tile_cost(shape, rows, narrow, weights_stay);
    return cost;
  };
  // The last tile multiplies for the rows that it lacks, too, but only input rows that there are:
  // those products are as many as padding spares, which are not left out of the price either.
  const std::int64_t rest = g.output.len[3] % config.rows;
  double cost = static_cast<double>(g.output.len[3] / config.rows) * sweep(config.rows);
  if (rest > 0) cost += sweep(rest);
  return cost;
}

double bytes_of_input(const GroupedShape& shape) {
  return static_cast<double>(size_of(shape.input)) * static_cast<double>(shape.g.input.elements());
}

/// Of smaller inputs hardware has most in time, and asking for them costs a seventh.
bool may_ask_ahead(const GroupedShape& shape) {
  constexpr double kLarge = 8 << 20;
  return shape.lanes_are_channels && bytes_of_input(shape) >= kLarge;
}

/// 144 channels at 56 x 56 pixels take 0.4 of the time at batch 16 on a Zen 5, 0.6 on Intel's
/// cores. With a stride there are more lines for each sum, and where the third level is far they
/// take 1.05 to 1.3 as long.
bool asks_ahead(const GroupedShape& shape, const CoreRates& rates) {
  const bool strided = shape.g.stride[1] > 1 || shape.g.stride[2] > 1;
  return may_ask_ahead(shape) && (!strided || rates.third_level_is_near());
}

/// Registers beside sums and weights.
int others_of(const GroupedShape& shape, const GroupedConfig& config) {
  if (shape.lanes_are_channels || shape.isa == Isa::avx512) return 3;
  return (shape.g.stride[2] == 1 ? config.columns : 4) + 1;
}

struct PricedTile {
  GroupedConfig config;
  double cost;
};

std::vector<PricedTile> priced_tiles(const GroupedShape& shape) {
  const int chain = chain_registers(shape);
  const int outputs = shape.lanes_are_channels ? 1 : shape.step;
  const std::int64_t unit = shape.lanes_are_channels ? 1 : shape.lanes();
  const auto most_rows = std::min<std::int64_t>(8, shape.g.output.len[3]);
  const auto most_columns = std::min<std::int64_t>(shape.lanes_are_channels ? 16 : 7,
                                                   ceil_div(shape.g.output.len[4], unit));
  std::vector<PricedTile> tiles;
  tiles.reserve(static_cast<std::size_t>(most_rows * most_columns));
  for (int rows = 1; rows <= most_rows; ++rows)
    for (int columns = 1; columns <= most_columns; ++columns) {
      const GroupedConfig config{rows, columns};
      if (!tile_fits(shape, config, chain)) continue;
      const std::int64_t registers = VectorCode::count(shape.isa) - rows * columns * outputs;
      const bool weights_stay = shape.taps() * outputs + others_of(shape, config) <= registers;
      tiles.push_back({config, cost_of(shape, config, weights_stay)});
    }
  return tiles;
}

}  // namespace

bool grouped_tile_fits(const GroupedShape& shape, const GroupedConfig& config) {
  return tile_fits(shape, config, 0);
}

GroupedConfig first_grouped_config(const GroupedShape& shape, const CoreRates& rates) {
  GroupedConfig config = std::ranges::min(priced_tiles(shape), {}, &PricedTile::cost).config;
  config.ahead = asks_ahead(shape, rates);
  return config;
}

std::vector<GroupedConfig> grouped_tuning_space(const GroupedShape& shape, const CoreRates& rates) {
  std::vector<PricedTile> tiles = priced_tiles(shape);
  std::ranges::stable_sort(tiles, {}, &PricedTile::cost);
  if (tiles.size() > kMostTiles) tiles.resize(kMostTiles);
  std::vector<GroupedConfig> configs;
  for (PricedTile& tile : tiles) {
    tile.config.ahead = asks_ahead(shape, rates);
    configs.push_back(tile.config);
  }
  if (!may_ask_ahead(shape)) return configs;
  for (PricedTile& tile : tiles) {
    tile.config.ahead = !tile.config.ahead;
    configs.push_back(tile.config);
  }
  return configs;
}

}  // namespace fuseplan::cpu
