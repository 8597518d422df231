// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/tuning.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include "kernels/cpu/conv1x1/cut.hpp"
#include "kernels/cpu/conv1x1/product_tile.hpp"
#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

struct TileSize {
  int rows, vectors;
};
// Where the estimate cannot tell two apart, pixels in vectors come first, then what reads less from
// behind the second-level cache, then the earlier.
constexpr TileSize kWideTiles[] = {{14, 1}, {7, 3}, {8, 3}, {7, 4}, {14, 2}, {6, 4},
                                   {28, 1}, {9, 3}, {5, 5}, {4, 6}, {12, 2}, {7, 2}};
constexpr TileSize kNarrowTiles[] = {{6, 2},  {4, 3},  {5, 2}, {3, 3},
                                     {14, 1}, {12, 1}, {7, 1}, {2, 4}};

std::span<const TileSize> tiles_of(Isa isa) {
  if (isa == Isa::avx512) return kWideTiles;
  return kNarrowTiles;
}

// What a block's input may take of a second-level cache of 1 MB or more.
constexpr std::int64_t kBlockBytes = 256 << 10;
constexpr std::int64_t kFloat = sizeof(float);

/// Vectors of pixels that start anywhere lie in two cache lines each.
bool crosses_lines(const Conv1x1Shape& shape) {
  constexpr std::int64_t kLine = 64;
  return shape.conv.input.stride[1] * kFloat % kLine != 0;
}
/// Of them the next tile reads one again: copying a block's rows first took 0.6 to 0.95 of the time
/// (64 and 256 channels at 55 x 55 pixels). In whole lines they are read where they lie.
bool reads_lines_twice(const Conv1x1Shape& shape) {
  constexpr std::int64_t kLongRow = 1024;
  return shape.pixels() >= kLongRow && crosses_lines(shape);
}
/// Planes that by pixel may be copied to panels or not.
bool may_copy_planes(const Conv1x1Shape& shape, const CoreRates& rates) {
  return rates.line_crossing > 1 && shape.reads_in_place() && reads_planes(shape) &&
         crosses_lines(shape) && !reads_lines_twice(shape);
}

/// Several images are worth a window: their weights are more than the second-level cache keeps
/// beside what goes by. With 64 to 256 outputs of as many inputs windows took 1.1 to 1.4 times as
/// long.
bool may_share_windows(const Conv1x1Shape& shape) {
  constexpr std::int64_t kKept = 512 << 10;
  return shape.conv.groups == 1 && shape.images() > 1 && has_short_planes(shape) &&
         shape.inputs() * shape.outputs() * kFloat > kKept;
}

/// Cycles on a core that multiplies and adds one vector and loads one a cycle. One that does twice
/// that sees all in the same proportion.
class Estimate {
 public:
  Estimate(const Conv1x1Shape& shape, const Conv1x1Config& config, const CoreRates& rates)
      : shape_(shape),
        config_(config),
        rates_(rates),
        channels_(shape.outputs(), config.by_channel ? shape.lanes() : 1,
                  config.by_channel ? config.vectors : config.rows),
        pixels_(config.images * shape.pixels(), config.by_channel ? 1 : shape.lanes(),
                config.by_channel ? config.rows : config.vectors) {}

  /// What is read more often than once, if it comes from behind the second-level cache. Weights
  /// come as one stream; pixels as many, which costs more.
  double reads() const {
    constexpr double kPixel = 6;
    const auto input = static_cast<double>(shape_.conv.input.elements() * kFloat);
    const auto weights = static_cast<double>(shape_.inputs() * shape_.outputs() * kFloat);
    double sum = 0;
    if (input > rates_.second_level_bytes)
      sum += kPixel * input * static_cast<double>(channels_.pieces());
    if (weights > rates_.second_level_bytes)
      sum += weights * static_cast<double>(shape_.images() / config_.images * pixels_.pieces());
    return sum;
  }

  /// Of an image.
  double cycles() const {
    double sum = 0;
    for (int c = 0; c < Cut::kKinds; ++c)
      for (int p = 0; p < Cut::kKinds; ++p)
        sum += count(channels_, c) * count(pixels_, p) * tile(c, p);
    sum /= static_cast<double>(config_.images);
    return (sum * plane_factor() + turning() + copying() + far_planes() + weights()) *
           crowd_factor();
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
    const bool half = shape_.isa == Isa::avx512 && tail <= 8;
    const double units = half ? vectors - 1 + rates_.half_vector : vectors;
    constexpr double kLatency = 4.8, kTile = 30;  // cycles, with what scheduling loses; products
    const double loads = units + rates_.scalar_load * rows *
                                     (product_embeds(shape_.isa, rows, vectors) ? vectors : 1);
    const double depth =
        std::max({rows * units, loads, kLatency / rates_.product, stream(vectors)}) *
        conflict_factor(rows) * crossing_factor();
    const double store = config_.by_channel && !shape_.lanes_are_channels ? turned_store() : 3;
    return depth * static_cast<double>(shape_.inputs()) + kTile + store * rows * vectors;
  }

  double weights() const {
    return weights_of_a_window(shape_, rates_) / static_cast<double>(config_.images);
  }

  // A line of the output gets its pixels from several tiles: it may have to come twice.
  double turned_store() const {
    const auto bytes =
        shape_.conv.output.elements() * static_cast<std::int64_t>(size_of(shape_.output));
    return bytes > kFarBytes ? rates_.far_turned_store : rates_.turned_store;
  }

  bool turns() const { return config_.by_channel && config_.staged && turns_planes(shape_); }
  double turning() const {
    constexpr double kTurn = 1;
    return turns() ? kTurn * static_cast<double>(shape_.inputs() * shape_.pixels()) : 0;
  }
  // The first-level cache keeps no block's planes from one piece of channels to the next.
  double plane_factor() const {
    if (!config_.by_channel || !reads_planes(shape_) || turns()) return 1;
    if (shape_.isa == Isa::avx2) return rates_.plane_stall;
    return has_short_planes(shape_) && !config_.staged ? rates_.short_planes.in_place : 1;
  }

  bool has_panels() const { return config_.staged && reads_planes(shape_) && !turns(); }
  double crossing_factor() const {
    const bool crosses = !config_.by_channel && !config_.staged && may_copy_planes(shape_, rates_);
    return crosses ? rates_.line_crossing : 1;
  }
  double copying() const {
    constexpr double kPlane = 24, kVector = 6;  // cycles
    if (!has_panels() || !shape_.reads_in_place()) return 0;
    const auto vectors = static_cast<double>(ceil_div(shape_.pixels(), shape_.lanes()));
    return (kPlane + kVector * vectors) / rates_.product * static_cast<double>(shape_.inputs());
  }

  // Each plane's vectors of a tile lie in a page of their own. By channel, the pixels of a plane
  // are asked for a tile ahead.
  double far_planes() const {
    if (config_.by_channel || config_.staged || !shape_.is_far(rates_)) return 0;
    const double vectors = static_cast<double>(shape_.pixels()) / shape_.lanes();
    return vectors / config_.vectors * static_cast<double>(shape_.inputs()) * rates_.far.plane /
           rates_.product;
  }

  // Vectors that the first-level cache does not keep from tile to tile: a piece's weights, or
  // pixels; and beside weights the lines of planes in which a tile's pixels lie.
  double stream(int vectors) const {
    constexpr double kKept = 32 << 10, kShare = 0.75, kScalars = 0.7;
    const double bytes = shape_.lanes() * kFloat;
    const double linear = vectors * bytes / (kShare * rates_.second_level * rates_.product);
    constexpr double kLine = 64;
    const double lines = std::max(1.0, vectors * bytes / kLine);
    if (!config_.by_channel)
      return has_panels() ? linear : std::max(linear, lines * rates_.plane_load);
    const double pixels = reads_planes(shape_) && !turns() ? kScalars * rates_.plane_load : 0;
    const double weights = vectors * bytes * static_cast<double>(shape_.inputs());
    return weights <= kKept ? 0 : linear + pixels;
  }

  // A block's input, a piece of weights and the next that is asked for meanwhile stay in the
  // second-level cache, or the last of them come from behind it twice.
  double crowd_factor() const {
    constexpr double kCrowded = 1.08;
    if (!config_.by_channel) return 1;
    const auto depth = static_cast<double>(shape_.inputs() * kFloat);
    const auto block =
        static_cast<double>(std::min(config_.block, config_.images * shape_.pixels()));
    const double lanes = channels_.size() * shape_.lanes();
    return depth * (block + 2 * lanes) > 2 * rates_.second_level_bytes ? kCrowded : 1;
  }

  // Rows whose values lie a multiple of 4 KB apart share the ways of one set of the first-level
  // cache with each other and with the vectors.
  double conflict_factor(int rows) const {
    if (!config_.by_channel || config_.staged) return 1;
    constexpr std::int64_t kSetPeriod = 4096;
    constexpr double kMissing = 1.3;
    const std::int64_t step = shape_.conv.input.stride[4] * kFloat;
    const std::int64_t places = kSetPeriod / std::gcd(step, kSetPeriod);
    return static_cast<double>(rows) / static_cast<double>(places) > rates_.first_level_ways - 1
               ? kMissing
               : 1;
  }

  const Conv1x1Shape& shape_;
  const Conv1x1Config& config_;
  const CoreRates& rates_;
  Cut channels_, pixels_;
};

/// Weights that the second-level cache does not keep are streamed once a block: then a plane is one
/// block even if it takes twice that.
std::int64_t block_of(const Conv1x1Shape& shape) {
  const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / (shape.inputs() * kFloat));
  const std::int64_t weights = shape.inputs() * shape.outputs() * kFloat;
  const bool whole = weights > kKeptWeightBytes && shape.pixels() <= 2 * block;
  return whole ? std::max(block, shape.pixels()) : block;
}

/// The best few also with other blocks, and with their input staged, or not, if they can do
/// without.
std::vector<Conv1x1Config> with_other_blocks(std::vector<Conv1x1Config> configs, bool in_place) {
  constexpr std::size_t kBest = 3, kMost = 16;
  std::vector<Conv1x1Config> others;
  for (std::size_t i = 0; i < kBest; ++i) {
    const Conv1x1Config best = configs[i];
    for (const std::int64_t block : {best.block / 4, best.block * 2}) {
      if (best.images > 1 && block > best.block) continue;  // a window is whole already
      others.push_back(best);
      others.back().block = std::max<std::int64_t>(1, block);
    }
    others.push_back(best);
    others.back().staged = !(best.staged && in_place);
    others.back().images = 1;
  }
  configs.resize(std::min(configs.size(), kMost));
  for (const Conv1x1Config& other : others)
    if (std::ranges::find(configs, other) == configs.end()) configs.push_back(other);
  return configs;
}

struct Candidate {
  Conv1x1Config config;
  double cycles;
  double reads;
};

/// Whether a block's input is staged: both where that turns or copies planes, for the estimate to
/// choose.
std::vector<bool> ways_to_read(const Conv1x1Shape& shape, const CoreRates& rates, bool by_channel) {
  if (!shape.reads_in_place()) return {true};
  if (by_channel ? turns_planes(shape) || has_short_planes(shape) : may_copy_planes(shape, rates))
    return {false, true};
  return {!by_channel && reads_lines_twice(shape)};
}

/// Of how many images a staged window may be. What is staged stays in the second-level cache.
std::vector<std::int64_t> window_sizes(const Conv1x1Shape& shape, const CoreRates& rates,
                                       bool by_channel) {
  constexpr std::int64_t kMostPixels = 256;
  std::vector<std::int64_t> sizes;
  if (!by_channel || !may_share_windows(shape)) return sizes;
  const auto bytes = static_cast<double>(shape.inputs() * shape.pixels() * kFloat);
  for (std::int64_t images = 2; images * shape.pixels() <= kMostPixels; ++images)
    if (shape.images() % images == 0 &&
        bytes * static_cast<double>(images) <= 0.6 * rates.second_level_bytes)
      sizes.push_back(images);
  return sizes;
}

std::vector<Candidate> candidates(const Conv1x1Shape& shape, const CoreRates& rates) {
  const std::int64_t block = block_of(shape);
  std::vector<Candidate> candidates;
  for (const bool by_channel : {false, true}) {
    if (!by_channel && shape.lanes_are_channels) continue;
    const auto add = [&](bool staged, std::int64_t images) {
      const bool beside_panels =
          by_channel && staged && has_short_planes(shape) && (images > 1 || shape.reads_in_place());
      for (const TileSize& tile : tiles_of(shape.isa)) {
        // Three and more vectors of weights beside panels took 1.03 to 1.1 of the time of 14x2.
        // Where a stride has planes copied in any case, they were among the best.
        if (beside_panels && tile.vectors > 2) continue;
        const Conv1x1Config config{by_channel,   tile.rows,
                                   tile.vectors, images > 1 ? images * shape.pixels() : block,
                                   staged,       images};
        const Estimate estimate(shape, config, rates);
        candidates.push_back({config, estimate.cycles(), estimate.reads()});
      }
    };
    for (const bool staged : ways_to_read(shape, rates, by_channel)) add(staged, 1);
    for (const std::int64_t images : window_sizes(shape, rates, by_channel)) add(true, images);
  }
  return candidates;
}

}  // namespace

std::vector<Conv1x1Config> tuning_space(const Conv1x1Shape& shape, const CoreRates& rates) {
  std::vector<Candidate> candidates = cpu::candidates(shape, rates);
  const double least = std::ranges::min(candidates, {}, &Candidate::cycles).cycles;
  constexpr double kSame = 1.01;
  std::ranges::stable_sort(candidates, {}, [&](const Candidate& candidate) {
    return std::tuple(std::max(candidate.cycles, kSame * least), candidate.config.by_channel,
                      candidate.reads);
  });
  std::vector<Conv1x1Config> configs;
  for (const Candidate& candidate : candidates) configs.push_back(candidate.config);
  return with_other_blocks(std::move(configs), shape.reads_in_place());
}

double weights_of_a_window(const Conv1x1Shape& shape, const CoreRates& rates) {
  if (!may_share_windows(shape)) return 0;
  const auto bytes = static_cast<double>(shape.inputs() * shape.outputs() * kFloat);
  return bytes / rates.second_level / rates.product;
}

double conv1x1_products(const Conv1x1Shape& shape, const CoreRates& rates) {
  return std::ranges::min(candidates(shape, rates), {}, &Candidate::cycles).cycles *
         static_cast<double>(shape.images());
}

}  // namespace fuseplan::cpu
