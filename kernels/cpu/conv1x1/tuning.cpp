// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/tuning.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/conv1x1/cut.hpp"
#include "kernels/cpu/conv1x1/product_tile.hpp"

namespace fuseplan::cpu {
namespace {

struct TileSize {
  int rows, vectors;
};
constexpr TileSize kTiles[] = {{14, 2}, {13, 2}, {12, 2}, {9, 3}, {8, 3},  {7, 3}, {6, 4},
                               {7, 4},  {5, 5},  {4, 6},  {7, 2}, {28, 1}, {14, 1}};

// What a block's input may take of a second-level cache of 1 MB or more.
constexpr std::int64_t kBlockBytes = 256 << 10;
constexpr std::int64_t kFloat = sizeof(float);

/// Cycles on a core that multiplies and adds one vector and loads one vector or two scalars a
/// cycle. One that does twice that sees all in the same proportion.
class Estimate {
 public:
  Estimate(const Conv1x1Shape& shape, const Conv1x1Config& config)
      : shape_(shape),
        config_(config),
        channels_(shape.outputs(), config.by_channel ? 16 : 1,
                  config.by_channel ? config.vectors : config.rows),
        pixels_(shape.pixels(), config.by_channel ? 1 : 16,
                config.by_channel ? config.rows : config.vectors) {}

  double cycles() const {
    double sum = 0;
    for (int c = 0; c < Cut::kKinds; ++c)
      for (int p = 0; p < Cut::kKinds; ++p)
        sum += count(channels_, c) * count(pixels_, p) * tile(c, p);
    return sum;
  }

 private:
  static double count(const Cut& cut, int kind) {
    return static_cast<double>(cut.kind_end(kind) - (kind == 0 ? 0 : cut.kind_end(kind - 1)));
  }

  double tile(int c, int p) const {
    const int channels = channels_.kind_size(c), pixels = pixels_.kind_size(p);
    if (channels == 0 || pixels == 0) return 0;
    const int rows = config_.by_channel ? pixels : channels;
    const int vectors = config_.by_channel ? channels : pixels;
    const int tail = config_.by_channel ? channels_.kind_tail(c) : pixels_.kind_tail(p);
    const double units = tail <= 8 ? vectors - 0.5 : vectors;
    constexpr double kLatency = 4, kTile = 30;
    const double loads = units + 0.5 * rows * (vectors == 1 || rows * vectors > 27 ? vectors : 1);
    const double depth = std::max({rows * units, loads, kLatency}) * conflict_factor(rows);
    const double store = config_.by_channel && !shape_.lanes_are_channels ? 7 : 3;
    return depth * static_cast<double>(shape_.inputs()) + kTile + store * rows * vectors;
  }

  // Rows whose values lie a multiple of 4 KB apart share the 8 ways of one set of the first-level
  // cache with each other and with the vectors.
  double conflict_factor(int rows) const {
    if (!config_.by_channel || config_.staged) return 1;
    constexpr std::int64_t kSetPeriod = 4096;
    constexpr double kWays = 7, kMissing = 1.3;
    const std::int64_t step = shape_.conv.input.stride[4] * kFloat;
    const std::int64_t places = kSetPeriod / std::gcd(step, kSetPeriod);
    return static_cast<double>(rows) / static_cast<double>(places) > kWays ? kMissing : 1;
  }

  const Conv1x1Shape& shape_;
  const Conv1x1Config& config_;
  Cut channels_, pixels_;
};

}  // namespace

std::vector<Conv1x1Config> tuning_space(const Conv1x1Shape& shape) {
  const std::int64_t pixels = std::max<std::int64_t>(1, kBlockBytes / (shape.inputs() * kFloat));
  std::vector<Conv1x1Config> configs;
  const bool staged = !shape.flat;
  for (const bool by_channel : {true, false}) {
    if (!by_channel && shape.lanes_are_channels) continue;
    for (const TileSize& tile : kTiles)
      configs.push_back({by_channel, tile.rows, tile.vectors, pixels, staged});
  }
  std::ranges::stable_sort(
      configs, {}, [&](const Conv1x1Config& config) { return Estimate(shape, config).cycles(); });
  return configs;
}

}  // namespace fuseplan::cpu
