// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/integer.hpp"
#include "kernels/cpu/direct/tuning.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/recipe.hpp"
#include "kernels/cpu/winograd/weights.hpp"

namespace fuseplan::cpu {
namespace {

constexpr double kPerCall = 91;   // products, of a product kernel's call
constexpr double kPerTurn = 0.7;  // of a transform's: turning the vector as well

// Bytes per cycle that weights of this size stream at.
double stream_rate(const CoreRates& rates, double bytes) {
  if (bytes < rates.second_level_bytes) return rates.second_level;
  return bytes < rates.asked_weights.bytes ? rates.asked_weights.rate : rates.behind;
}

/// Axes that are transformed.
double passes_of(const WinogradPlan& plan) {
  return (plan.rows->taps > 1 ? 1 : 0) + (plan.columns->taps > 1 ? 1 : 0);
}

/// Cycles that transformed input takes longer than from the second-level cache, as far as that does
/// not keep it: it is stored, and read again for each tile of output channels. A near third level
/// hands it back while products are made.
double spill_of(const WinogradPlan& plan, const CoreRates& rates) {
  if (rates.third_level_is_near()) return 0;
  constexpr double kKept = 3 << 18;
  const auto inputs = static_cast<double>(plan.inputs());
  const double tile = 4 * static_cast<double>(plan.positions()) * inputs;
  const auto at_a_time =
      static_cast<double>(std::min(plan.tiles, plan.block_pieces * plan.largest_piece()));
  const double waiting = tile * at_a_time;
  if (waiting <= kKept) return 0;
  constexpr double kStored = 2;
  const double moved =
      tile * static_cast<double>(plan.tiles) * (kStored + static_cast<double>(plan.channel_tiles));
  const double cycles_a_byte = 1 / rates.third_level - 1 / rates.second_level;
  return (1 - kKept / waiting) * moved * cycles_a_byte;
}

/// Of one thread, in cycles.
double cost_of(const WinogradPlan& plan, const CoreRates& rates) {
  const auto inputs = static_cast<double>(plan.inputs()), tiles = static_cast<double>(plan.tiles);
  const auto positions = static_cast<double>(plan.positions());
  const auto input_vectors = static_cast<double>(ceil_div(plan.inputs(), plan.lanes()));
  const auto output_vectors = static_cast<double>(ceil_div(plan.outputs(), plan.lanes()));
  const double calls = positions * static_cast<double>(plan.pieces * plan.channel_tiles);
  const double products = positions * tiles * inputs * output_vectors * rates.product +
                          calls * kPerCall * rates.product;
  const auto weights = static_cast<double>(winograd_weight_bytes(plan));
  const std::int64_t blocks = ceil_div(plan.pieces, plan.block_pieces);
  const double stream = static_cast<double>(blocks) * weights / stream_rate(rates, weights);
  const double turn = plan.input_channels_last() ? 0 : kPerTurn;
  const double transforms = positions * tiles * (input_vectors + output_vectors) * rates.transform *
                            (passes_of(plan) / 2 + turn);
  // Half vectors have half the weights on the way at a time: from memory some are waited for.
  const bool waits = plan.isa != Isa::avx512 && weights >= rates.third_level_bytes;
  const double waited = waits ? stream / 4 : 0;
  return std::max(products, stream) + waited + transforms + spill_of(plan, rates);
}

// Register tiles of the products, best first.
struct ProductTile {
  int pixels, vectors;
};
constexpr ProductTile kWideProducts[] = {{14, 2}, {9, 3}, {6, 4}};
constexpr ProductTile kNarrowProducts[] = {{6, 2}, {4, 3}};

std::span<const ProductTile> product_tiles(Isa isa) {
  if (isa == Isa::avx512) return kWideProducts;
  return kNarrowProducts;
}

/// Those that take whole runs of tiles.
std::vector<ProductTile> product_tiles(const DirectShape& shape, Isa isa) {
  std::vector<ProductTile> tiles;
  for (const ProductTile& tile : product_tiles(isa))
    if (tile.pixels >= shape.conv.dilation[2]) tiles.push_back(tile);
  return tiles;
}

// Tiles at a time.
constexpr std::int64_t kMany = 112, kUsual = 28, kFew = 14;

/// Of a transformed tile and its sums.
std::int64_t tile_bytes(const WinogradPlan& plan) {
  return plan.positions() * (plan.inputs() + plan.outputs()) * std::int64_t{sizeof(float)};
}

/// Whether so many are more than the second-level cache keeps.
bool spills(const WinogradPlan& plan, std::int64_t tiles) {
  constexpr std::int64_t kKept = 3 << 19;
  return tiles * tile_bytes(plan) > kKept;
}

// As many as do not spill. With the weights of all positions beyond every cache, more at a time pay
// although they do, as long as a third level keeps them.
std::int64_t tiles_at_a_time(const WinogradPlan& plan) {
  constexpr std::size_t kLargeWeights = 16 << 20;
  constexpr std::int64_t kKeptFar = 24 << 20;
  if (winograd_weight_bytes(plan) > kLargeWeights && kMany * tile_bytes(plan) <= kKeptFar)
    return kMany;
  return plan.tiles > kUsual && spills(plan, kUsual) ? kFew : kUsual;
}

/// No more tiles than usual are cut in two if they spill: 320 to 320 channels at 20 x 20
/// pixels take 0.72 of the time on Intel's cores. Not so with strides, whose 99 positions have as
/// many more weights to come for each half, nor with tiles of 6 of AVX2. What the weights of the
/// second half cost is less than the model has for them, so it is not asked.
std::int64_t cut_in_two(const WinogradPlan& plan) {
  const bool pays = plan.isa == Isa::avx512 && plan.rows->stride * plan.columns->stride == 1;
  return pays && plan.config.tiles == kUsual && spills(plan, std::min(plan.tiles, kUsual))
             ? kFew
             : plan.config.tiles;
}

using RankedTile = std::pair<double, WinogradConfig>;

/// Where few pieces meet many weights, of a far third level: 9 x 3 products read inputs less often
/// and wait less for weights. Over 28 x 28 pixels 512 to 512 channels take 0.93 to 0.95 of the time
/// so on Intel's cores, 256 to 512 0.90 to 0.92; 17 MB of 512 to 512 in 2x2 over 7 x 7 gain
/// nothing.
ProductTile product_of(const WinogradPlan& plan, const CoreRates& rates, std::int64_t at_a_time) {
  constexpr std::size_t kManyWeights = 17 << 20;
  const bool waits = at_a_time == kMany && winograd_weight_bytes(plan) > kManyWeights &&
                     !rates.third_level_is_near();
  const bool pays = waits && plan.isa == Isa::avx512 && plan.column_spread.dilation == 1;
  return product_tiles(plan.isa)[pays ? 1 : 0];
}

/// Every tile with its cost, the cheapest first.
std::vector<RankedTile> ranked_tiles(const DirectShape& shape, Isa isa, const CoreRates& rates) {
  const ProductTile product = product_tiles(isa).front();
  std::vector<RankedTile> tiles;
  std::vector<TileAxes> axes = winograd_axes(shape.conv);
  // What the model cannot tell apart is decided by the order: larger tiles first, then wider ones.
  std::ranges::stable_sort(axes, std::ranges::greater{}, [](const TileAxes& tile) {
    return std::pair(tile.rows->outputs * tile.columns->outputs, tile.columns->outputs);
  });
  for (const auto& [rows, columns] : axes) {
    WinogradConfig config{rows->outputs, columns->outputs, product.pixels, product.vectors, 0};
    const WinogradPlan usual = winograd_plan(shape, isa, config);
    config.tiles = tiles_at_a_time(usual);
    const ProductTile taken = product_of(usual, rates, config.tiles);
    config.pixels = taken.pixels, config.vectors = taken.vectors;
    const WinogradPlan plan = winograd_plan(shape, isa, config);
    config.tiles = cut_in_two(plan);
    tiles.emplace_back(cost_of(plan, rates), config);
  }
  std::ranges::stable_sort(tiles, {}, &RankedTile::first);
  return tiles;
}

}  // namespace

std::int64_t most_winograd_dilation(Isa isa) { return product_tiles(isa).front().pixels; }

std::vector<WinogradConfig> winograd_configs(const Problem& problem, Isa isa,
                                             const CoreRates& rates) {
  const DirectShape shape = direct_shape(problem, {});
  const ProductTile product = product_tiles(isa).front();
  std::vector<WinogradConfig> configs;
  for (const auto& [cost, config] : ranked_tiles(shape, isa, rates)) configs.push_back(config);
  const WinogradConfig best = configs.front();
  const WinogradPlan plan = winograd_plan(shape, isa, best);
  const auto add = [&](const WinogradConfig& config) {
    if (std::ranges::find(configs, config) == configs.end()) configs.push_back(config);
  };
  for (const ProductTile& other : product_tiles(shape, isa))
    add({best.rows, best.columns, other.pixels, other.vectors, best.tiles});
  for (std::int64_t count : {14, 28, 56, 112})
    if (count - product.pixels < plan.tiles)
      add({best.rows, best.columns, product.pixels, product.vectors, count});
  return configs;
}

WinogradConfig first_winograd_config(const Problem& problem, Isa isa, const CoreRates& rates) {
  return ranked_tiles(direct_shape(problem, {}), isa, rates).front().second;
}

double winograd_speedup(const Problem& problem, Isa isa, const CoreRates& rates) {
  const DirectShape shape = direct_shape(problem, {});
  const double cost = ranked_tiles(shape, isa, rates).front().first;
  return direct_cycles(shape, isa, rates) / cost;
}

}  // namespace fuseplan::cpu
