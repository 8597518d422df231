// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/integer.hpp"
#include "kernels/cpu/conv1x1/product_loop.hpp"
#include "kernels/cpu/conv1x1/tuning.hpp"
#include "kernels/cpu/strassen/halves.hpp"
#include "kernels/cpu/strassen/plan.hpp"
#include "kernels/cpu/strassen/scheme.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

struct TileSize {
  int rows, vectors;
};
// Where the estimate cannot tell two apart, the one with fewer kernels, then the earlier. A vector
// beside many scalars keeps what is read of either in the first-level cache.
constexpr TileSize kWideTiles[] = {{14, 1}, {16, 1}, {22, 1}, {26, 1}, {6, 4},
                                   {9, 3},  {5, 5},  {14, 2}, {7, 4},  {7, 2}};
constexpr TileSize kNarrowTiles[] = {{6, 2}, {4, 3}, {5, 2}, {3, 3}};

std::span<const TileSize> tiles_of(Isa isa) {
  if (isa == Isa::avx512) return kWideTiles;
  return kNarrowTiles;
}

/// In multiply-adds of a vector, as conv1x1's. What else takes time is known in cycles.
class Estimate {
 public:
  Estimate(const Conv1x1Shape& shape, const StrassenConfig& config, const CoreRates& rates)
      : shape_(shape),
        config_(config),
        rates_(rates),
        rows_(Halves::of_rows(config.by_channel ? shape.pixels() : shape.outputs(), config.rows)),
        lanes_(Halves::of_lanes(config.by_channel ? shape.outputs() : shape.pixels(), shape.lanes(),
                                config.vectors)) {}

  /// Kernels that differ.
  int kernels() const {
    int rows = 0, lanes = 0;
    for (int kind = 0; kind < Halves::kKinds; ++kind) {
      rows += rows_.kind_size(kind) > 0 ? 1 : 0;
      lanes += lanes_.kind_size(kind) > 0 ? 1 : 0;
    }
    return rows * lanes;
  }

  double products() const {
    const double short_planes = has_short_planes(shape_) ? rates_.short_planes.halves : 1;
    return std::max(products_of_an_image(), streaming()) * short_planes *
           static_cast<double>(shape_.images());
  }

 private:
  double products_of_an_image() const {
    double sum = staging() + far_lines() + far_pixels() + parts_of_planes() + weights();
    for (int r = 0; r < Halves::kKinds; ++r)
      for (int l = 0; l < Halves::kKinds; ++l)
        sum += count(rows_, r) * count(lanes_, l) * tile(r, l);
    return sum;
  }

  /// As conv1x1 reckons with them: a factor of a product has a fourth of them.
  double weights() const { return kStrassenProducts / 4.0 * weights_of_a_window(shape_, rates_); }

  /// Weights that no second-level cache keeps come from behind it once a block.
  double streaming() const {
    const double weights =
        kStrassenProducts * depth() * static_cast<double>(ceil_div(shape_.outputs(), 2) * kFloat);
    if (weights <= rates_.second_level_bytes) return 0;
    const double rate = weights < rates_.third_level_bytes ? rates_.third_level : rates_.behind;
    const auto blocks = static_cast<double>(ceil_div(shape_.pixels(), config_.block));
    return blocks * weights / rate / rates_.product;
  }

  static double count(const Halves& halves, int kind) {
    return static_cast<double>(halves.kind_end(kind) - (kind == 0 ? 0 : halves.kind_end(kind - 1)));
  }
  double depth() const { return static_cast<double>(half()); }
  std::int64_t half() const { return ceil_div(shape_.inputs(), 2); }
  bool makes_sums_in_passing() const { return !config_.by_channel && !config_.staged; }

  /// The four quarters of a tile.
  double tile(int row_kind, int lane_kind) const {
    const int rows = rows_.kind_size(row_kind), vectors = lanes_.kind_size(lane_kind);
    if (rows == 0 || vectors == 0) return 0;
    // Counts half on any core: what the constants below were fitted with.
    const bool half_vector = shape_.isa == Isa::avx512 && lanes_.kind_tail(lane_kind) <= 8;
    const double units = half_vector ? vectors - 0.5 : vectors;
    const double sums = rows * units;
    const double turned =
        config_.by_channel && !shape_.lanes_are_channels ? rates_.turned_store : 3;
    // Cycles, of whole lines; a sum waits, is fetched and added to others, and is kept between
    // sections.
    constexpr double kTile = 130, kShared = 10, kKept = 4 * 5;
    const auto kept = static_cast<double>(ceil_div(half(), strassen_section(half())) - 1);
    return kStrassenProducts * depth() * product(rows, vectors, units) + 4 * turned * sums +
           (kTile + (kShared + kept * kKept) * sums + crowd(rows, 4 * sums)) * line_share() /
               rates_.product;
  }

  /// Cycles that the sums of a tile of NHWC wait to be stored, as they all are when the last
  /// product has been added: what no buffer of the core takes. Far away, runs of channels of many
  /// pixels.
  double crowd(int rows, double sums) const {
    if (!shape_.lanes_are_channels) return 0;
    constexpr double kTaken = 56, kFewRuns = 36, kManyRuns = 52;
    const double runs = std::clamp(4.0 * rows, kFewRuns, kManyRuns);
    const double share = (runs - kFewRuns) / (kManyRuns - kFewRuns);
    return std::max(0.0, sums - kTaken) * rates_.crowded_sum +
           (shape_.is_far(rates_) ? share * sums * rates_.far.crowded : 0);
  }

  /// What lines of NHWC from far away take longer than conv1x1's, which are asked for a tile ahead:
  /// of an image.
  double far_pixels() const {
    if (!shape_.lanes_are_channels || !shape_.is_far(rates_)) return 0;
    const double input = shape_.flat ? rates_.far.pixel : rates_.far.strided;
    return (lines_of(shape_.inputs()) * input + lines_of(shape_.outputs()) * rates_.far.pixel) /
           rates_.product;
  }
  /// Lines of an image's pixels in so many channels of f32.
  double lines_of(std::int64_t channels) const {
    constexpr double kLine = 16;
    return static_cast<double>(shape_.pixels() * channels) / kLine;
  }

  /// Of a cache line, that a vector is.
  double line_share() const { return static_cast<double>(shape_.lanes()) / lanes_of(Isa::avx512); }

  /// One depth of a product.
  double product(int rows, int vectors, double units) const {
    constexpr double kLatency = 4.8;  // cycles, with what scheduling loses
    const bool passing = makes_sums_in_passing();
    // In passing a left factor is the sum of two quarters on average, whose lines lie in planes.
    const double vector_load = passing ? 5.4 + 0.6 * rates_.plane_load * line_share() : 1;
    const double loads =
        vector_load * units +
        rates_.scalar_load * rows * (product_embeds(shape_.isa, rows, vectors) ? vectors : 1);
    const double adds = passing ? rates_.addition * units : 0;
    // Vectors of several planes' lines wait for them.
    const double wait = passing && vectors > 1 ? 1.12 : 1;
    // Weights, or staged lines, come from the second-level cache beside the products.
    constexpr double kLine = 0.1;
    const double lines = passing ? 0 : kLine / rates_.product * vectors;
    return (std::max({rows * units + adds, loads, kLatency / rates_.product}) + lines) *
           conflict_factor(rows) * wait;
  }

  // Rows whose values lie a multiple of 4 KB apart share the ways of one set of the first-level
  // cache with each other and with the vectors.
  double conflict_factor(int rows) const {
    if (!config_.by_channel || config_.staged) return 1;
    constexpr std::int64_t kSetPeriod = 4096;
    constexpr double kMissing = 1.3;
    const std::int64_t step = shape_.conv.input.stride[4] * kFloat;
    const std::int64_t places = kSetPeriod / std::gcd(step, kSetPeriod);
    return rows > (rates_.first_level_ways - 1) * static_cast<double>(places) ? kMissing : 1;
  }

  /// Of an image: vectors of four quarters are read, and of four or seven factors written. Lines of
  /// planes lie in as many pages; pixels that a stride keeps of them come with twice the lines.
  double staging() const {
    if (makes_sums_in_passing()) return 0;
    struct Cycles {
      double sums, factors;
    };
    constexpr Cycles kPixels{28, 44}, kHalfPixels{42, 66}, kPlanes{60, 88}, kGathered{220, 220};
    const Cycles& rows = shape_.isa == Isa::avx512 ? kPixels : kHalfPixels;
    const Cycles& cycles = reads_pixels() ? rows : shape_.flat ? kPlanes : kGathered;
    const Halves& halves = config_.by_channel ? rows_ : lanes_;
    const auto pixels = static_cast<double>(halves.most_width());  // a piece's, by vectors
    const double lanes = reads_pixels() ? 16 : pixels / std::ceil(pixels / 16);
    const double pace = reads_pixels() || shape_.flat ? rates_.staging : 1;
    return static_cast<double>(ceil_div(shape_.pixels(), 2)) * depth() / lanes *
           (config_.staged ? cycles.factors : cycles.sums) * pace / rates_.product;
  }
  bool reads_pixels() const { return shape_.conv.input.stride[1] == 1; }

  /// What lines of planes from behind the second-level cache take longer than beside eight
  /// products, as both halves of the pixels want theirs at once: of an image.
  double far_lines() const {
    if (shape_.lanes_are_channels) return 0;
    const View &input = shape_.conv.input, &output = shape_.conv.output;
    constexpr double kLine = 16;
    double lines = 0;
    for (const auto& [view, type] : {std::pair(&input, shape_.input), {&output, shape_.output}})
      if (view->elements() * static_cast<std::int64_t>(size_of(type)) > kFarBytes)
        lines += static_cast<double>(view->elements() / shape_.images()) / kLine;
    return lines * far_line() * line_share() + far_staging();
  }
  /// Where that input alone is more than caches keep.
  double far_staging() const {
    const double input = static_cast<double>(shape_.conv.input.elements()) *
                         static_cast<double>(size_of(shape_.input));
    if (config_.by_channel || !config_.staged || input <= rates_.far.bytes) return 0;
    return lines_of(shape_.inputs()) * rates_.far.staged / rates_.product;
  }

  /// A block of pixels that is a part of every plane comes in as many short pieces, each from a
  /// page of its own.
  double parts_of_planes() const {
    if (!config_.by_channel || reads_pixels() || config_.block >= shape_.pixels()) return 0;
    constexpr double kLine = 16, kNear = 5, kFar = 22;  // cycles of a line
    const auto input = shape_.conv.input.elements();
    const bool far = input * static_cast<std::int64_t>(size_of(shape_.input)) > kFarBytes;
    return static_cast<double>(input / shape_.images()) / kLine * (far ? kFar : kNear) /
           rates_.product;
  }

  double far_line() const {
    constexpr std::int64_t kLanes = 16;
    struct Lines {
      double in_order, in_parts, scalars;
    };
    constexpr Lines kFast{2, 6, 4}, kSlow{1, 8, 15};
    const Lines& lines = rates_.third_level_keeps_up() ? kFast : kSlow;
    if (config_.by_channel) return config_.staged ? lines.in_parts : lines.scalars;
    const bool whole = shape_.pixels() / 2 % kLanes == 0;
    const bool line = config_.vectors * shape_.lanes() <= kLanes;
    return whole && line ? lines.in_order : lines.in_parts;
  }

  const Conv1x1Shape& shape_;
  const StrassenConfig& config_;
  const CoreRates& rates_;
  Halves rows_, lanes_;
};

/// Input of a block and what is staged of it stay in a second-level cache beside weights. Planes
/// are read whole, as each lies elsewhere.
std::int64_t block_of(const Conv1x1Shape& shape, bool by_channel) {
  constexpr std::int64_t kRows = 128 << 10, kPlanes = 256 << 10, kWholePlane = 1 << 20;
  constexpr std::int64_t kFewest = 56;  // of pixels, that weights are worth coming for
  const std::int64_t pixel = 2 * strassen_section(ceil_div(shape.inputs(), 2)) * kFloat;
  if (shape.conv.input.stride[1] == 1) return std::max(kFewest, kRows / pixel);
  if (by_channel && shape.pixels() * pixel <= kWholePlane) return shape.pixels();
  return std::max(kFewest, kPlanes / pixel);
}

struct Candidate {
  StrassenConfig config;
  double products;
  int kernels;
};

/// In the order of the table.
std::vector<Candidate> candidates(const Conv1x1Shape& shape, const CoreRates& rates) {
  std::vector<Candidate> candidates;
  for (const bool by_channel : {false, true}) {
    if (!strassen_has_halves(shape, by_channel)) continue;
    for (const bool staged : {false, true}) {
      if (!staged && !strassen_reads_in_place(shape, by_channel)) continue;
      for (const TileSize& tile : tiles_of(shape.isa)) {
        const StrassenConfig config{by_channel, tile.rows, tile.vectors,
                                    block_of(shape, by_channel), staged};
        const Estimate estimate(shape, config, rates);
        candidates.push_back({config, estimate.products(), estimate.kernels()});
      }
    }
  }
  return candidates;
}

/// The best few also with other blocks.
std::vector<StrassenConfig> with_other_blocks(std::vector<StrassenConfig> configs) {
  constexpr std::size_t kBest = 3, kMost = 16;
  std::vector<StrassenConfig> others;
  for (std::size_t i = 0; i < std::min(kBest, configs.size()); ++i)
    for (const std::int64_t block : {configs[i].block / 4, configs[i].block * 2}) {
      others.push_back(configs[i]);
      others.back().block = std::max<std::int64_t>(1, block);
    }
  configs.resize(std::min(configs.size(), kMost));
  for (const StrassenConfig& other : others)
    if (std::ranges::find(configs, other) == configs.end()) configs.push_back(other);
  return configs;
}

}  // namespace

std::vector<StrassenConfig> strassen_tuning_space(const Conv1x1Shape& shape,
                                                  const CoreRates& rates) {
  std::vector<Candidate> candidates = cpu::candidates(shape, rates);
  if (candidates.empty()) return {};
  constexpr double kSame = 1.01;
  const double least = kSame * std::ranges::min(candidates, {}, &Candidate::products).products;
  std::ranges::stable_sort(candidates, {}, [&](const Candidate& candidate) {
    return std::pair(std::max(candidate.products, least), candidate.kernels);
  });
  std::vector<StrassenConfig> configs;
  for (const Candidate& candidate : candidates) configs.push_back(candidate.config);
  return with_other_blocks(std::move(configs));
}

double strassen_products(const Conv1x1Shape& shape, const CoreRates& rates) {
  return std::ranges::min(candidates(shape, rates), {}, &Candidate::products).products;
}

}  // namespace fuseplan::cpu
