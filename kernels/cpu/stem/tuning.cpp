// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/tuning.hpp"

#include <algorithm>
#include <utility>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

/// Cycles of a product: a multiply-add that loads a scalar and shares its weights with the other
/// tiles, or what it takes these to come.
double product_cycles(const StemPlan& plan, const CoreRates& rates) {
  constexpr double kFirstLevel = 24 << 10;
  const double tiles = plan.config.tiles;
  const auto vector = static_cast<double>(plan.lanes() * std::int64_t{sizeof(float)});
  const double loads = rates.scalar_load + 1 / tiles;
  const double bytes = static_cast<double>(plan.positions() * plan.channels) * vector;
  const double rate = bytes <= rates.second_level_bytes ? rates.second_level : rates.third_level;
  const double weights = bytes <= kFirstLevel ? 0 : vector / tiles / rate;
  return std::max(std::max(1.0, loads) * rates.product, weights);
}

}  // namespace

double stem_cycles(const StemPlan& plan, const CoreRates& rates) {
  // To transform a vector of a position's input, and of its sums; to apply the chain to an output.
  const double input = 1.1 * rates.transform, sum = 0.3 * rates.transform;
  const double output = 0.6 * rates.transform;
  const auto positions = static_cast<double>(plan.positions());
  const auto outputs = static_cast<double>(plan.rows->outputs * plan.columns->outputs);
  const double vector =
      positions * static_cast<double>(plan.channels) * product_cycles(plan, rates) +
      sum * positions + output * outputs;
  const double tile = static_cast<double>(plan.vectors) * vector +
                      input * positions * static_cast<double>(plan.width() / plan.lanes());
  const std::int64_t tiles = plan.shape.conv.output.len[0] * plan.tile_rows * plan.tile_columns;
  return static_cast<double>(tiles) * tile;
}

std::vector<StemConfig> stem_tuning_space(const DirectShape& shape, Isa isa,
                                          const CoreRates& rates) {
  std::vector<std::pair<double, StemConfig>> candidates;
  for (const Axis* rows : axes_of(phases_of(shape.conv, 1).taps))
    for (const Axis* columns : axes_of(phases_of(shape.conv, 2).taps))
      for (const int tiles : {4, 3, 2, 5}) {
        if (!stem_tiles_fit(isa, *columns, tiles)) continue;
        const StemConfig config{rows->outputs, columns->outputs, tiles};
        candidates.emplace_back(stem_cycles(stem_plan(shape, isa, config), rates), config);
      }
  std::ranges::stable_sort(candidates, {}, [](const auto& candidate) { return candidate.first; });
  std::vector<StemConfig> configs;
  for (const auto& [cycles, config] : candidates) configs.push_back(config);
  return configs;
}

}  // namespace fuseplan::cpu
