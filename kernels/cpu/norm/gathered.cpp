// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/gathered.hpp"

#include <bit>
#include <cmath>

namespace fuseplan::cpu {

namespace {

constexpr std::int64_t kBlockRows = 256;      ///< additions to a sum in f32, where lanes are cells
constexpr std::int64_t kBlockSamples = 4096;  ///< those that 16 sums share otherwise
constexpr std::int64_t kPivotRows = 16, kPivotLanes = 64;  ///< samples of the first pivot

float sum_of(const float* lanes) {
  float sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = (lanes[i] + lanes[i + 4]) + (lanes[i + 8] + lanes[i + 12]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Sums in f32 of a range of cells over a few samples, and the calls that add to them.
class BlockSums {
 public:
  BlockSums(const CellWalk& cells, const WalkPlace& place, const SumsKernel& kernel, Range range,
            Scratch& scratch)
      : cells_(cells),
        place_(place),
        kernel_(kernel),
        count_(range.last - range.first),
        root_stride_((count_ + kSumLanes - 1) / kSumLanes * kSumLanes) {
    // Per lane a float for each root and cell, otherwise kSumLanes of them.
    size_ = static_cast<std::int64_t>(kernel.roots) *
            (cells.per_lane ? root_stride_ : count_ * kSumLanes);
    sums_ = scratch.take_array<float>(static_cast<std::size_t>(size_));
    if (!cells.per_lane)
      lane_sums_ = scratch.take_array<float>(kernel.roots * static_cast<std::size_t>(root_stride_));
    clear();
  }

  void add(const WalkBlock& block, const float* pivots) {
    Scratch scratch;
    RowsCall call = call_of(cells_.walk, place_, block, scratch);
    const auto roots = static_cast<std::int64_t>(kernel_.roots);
    call.output = sums_;
    call.output_step = 4 * (cells_.per_lane ? root_stride_ : roots * kSumLanes);
    if (!cells_.per_lane && cells_.rows_of_cell == 0) call.output_step = 0;
    if (pivots != nullptr) {
      call.channels = pivots;
      call.channel_stride_bytes = 0;
      call.channel_step = cells_.per_lane || cells_.rows_of_cell == 0 ? 0 : 4;
    }
    kernel_.call(&call);
  }

  /// Adds them to `to` and starts again from nothing.
  void move_to(const Gathered& to) {
    for (std::size_t r = 0; r < kernel_.roots; ++r) {
      const float* from = root(r);
      double* values = to.of(r);
      for (std::int64_t i = 0; i < count_; ++i) values[i] += static_cast<double>(from[i]);
    }
    clear();
  }

  /// Root r of cell i, at [i]: where lanes are samples, what they sum to.
  const float* root(std::size_t r) {
    const auto number = static_cast<std::int64_t>(r);
    if (cells_.per_lane) return sums_ + number * root_stride_;
    const auto roots = static_cast<std::int64_t>(kernel_.roots);
    float* sums = lane_sums_ + number * root_stride_;
    for (std::int64_t i = 0; i < count_; ++i)
      sums[i] = sum_of(sums_ + (i * roots + number) * kSumLanes);
    return sums;
  }

  void clear() { std::fill_n(sums_, size_, 0.0f); }

 private:
  const CellWalk& cells_;
  const WalkPlace& place_;
  const SumsKernel& kernel_;
  std::int64_t count_, root_stride_, size_ = 0;
  float* sums_;
  float* lane_sums_ = nullptr;
};

std::int64_t block_samples(const CellWalk& cells) {
  return cells.per_lane ? kBlockRows : kBlockSamples;
}

/// Rows of a call: few enough that the sums of some lanes over all of them meet the lines that the
/// lanes before brought in, and that rows are read about in memory order. The same for any range of
/// cells, as pivots and blocks follow from it; a part of a block.
std::int64_t call_rows(const CellWalk& cells) {
  constexpr std::int64_t kCallBytes = 64 << 10, kFewest = 8, kCells = 1024;
  const std::int64_t row = cells.unit_bytes(std::min(cells.cells, kCells));
  const std::int64_t rows = kCallBytes / std::max<std::int64_t>(row, 1);
  return std::clamp(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows))),
                    kFewest, kBlockRows);
}

/// A pivot that is not finite would hide which value of the formula is not.
float finite_or_zero(float pivot) { return std::isfinite(pivot) ? pivot : 0.0f; }

/// Adds the moments of `count` samples, of whose deviations from the pivots `first` and `second`
/// are the sums and sums of squares; the pivots become the means of all.
void join_block(Gathered& to, std::int64_t count, const float* first, const float* second,
                float* pivots) {
  const auto known = static_cast<double>(to.count), added = static_cast<double>(count);
  const double inverse = 1 / added, share = added / (known + added), between = known * share;
  double *mean = to.of(0), *squares = to.of(1);
  for (std::int64_t i = 0; i < to.cells; ++i) {
    const double sum = static_cast<double>(first[i]), shift = sum * inverse;
    const double own = std::max(static_cast<double>(second[i]) - sum * shift, 0.0);
    const double delta = static_cast<double>(pivots[i]) + shift - mean[i];
    squares[i] += own + delta * delta * between;
    mean[i] += delta * share;
    pivots[i] = finite_or_zero(static_cast<float>(mean[i]));
  }
  to.count += count;
}

/// Takes the samples of a range block by block.
class MomentsGatherer {
 public:
  MomentsGatherer(const CellWalk& cells, const WalkPlace& place, const SumsKernel& kernel,
                  Range range, Gathered& total, Scratch& scratch)
      : cells_(cells),
        block_(cells, place, kernel, range, scratch),
        total_(total),
        pivots_(scratch.take_array<float>(static_cast<std::size_t>(total.stride))) {
    std::fill_n(pivots_, total.stride, 0.0f);
  }

  void take(const WalkBlock& block, std::int64_t samples) {
    if (total_.count == 0 && in_block_ == 0) choose_first_pivots(block);
    block_.add(block, pivots_);
    in_block_ += samples;
    if (in_block_ >= block_samples(cells_)) end_block();
  }

  void finish() {
    if (in_block_ > 0) end_block();
  }

 private:
  void choose_first_pivots(WalkBlock block) {
    block.rows = cells_.per_lane ? std::min(block.rows, kPivotRows) : block.rows;
    block.lanes = cells_.per_lane ? block.lanes : std::min(block.lanes, kPivotLanes);
    block_.add(block, pivots_);
    const auto share = 1 / static_cast<float>(cells_.per_lane ? block.rows : block.lanes);
    const float* sums = block_.root(0);
    for (std::int64_t i = 0; i < total_.cells; ++i) pivots_[i] = finite_or_zero(sums[i] * share);
    block_.clear();
  }

  void end_block() {
    const float* first = block_.root(0);
    join_block(total_, in_block_, first, block_.root(1), pivots_);
    block_.clear();
    in_block_ = 0;
  }

  const CellWalk& cells_;
  BlockSums block_;
  Gathered& total_;
  float* pivots_;
  std::int64_t in_block_ = 0;
};

}  // namespace

Gathered nothing_gathered(std::int64_t cells, std::size_t values, Scratch& scratch) {
  Gathered result{.cells = cells, .stride = (cells + kSumLanes - 1) / kSumLanes * kSumLanes};
  const std::size_t size = values * static_cast<std::size_t>(result.stride);
  result.values = scratch.take_array<double>(size);
  std::fill_n(result.values, size, 0.0);
  return result;
}

void add_sums(Gathered& to, const Gathered& other, std::size_t values) {
  for (std::size_t v = 0; v < values; ++v) {
    double* sums = to.of(v);
    const double* more = other.of(v);
    for (std::int64_t i = 0; i < to.cells; ++i) sums[i] += more[i];
  }
  to.count += other.count;
}

void add_moments(Gathered& to, const Gathered& other) {
  if (other.count == 0) return;
  const auto a = static_cast<double>(to.count), b = static_cast<double>(other.count);
  const double share = b / (a + b), between = a * share;
  double *mean = to.of(0), *squares = to.of(1);
  const double *other_mean = other.of(0), *other_squares = other.of(1);
  for (std::int64_t i = 0; i < to.cells; ++i) {
    const double delta = to.count == 0 ? other_mean[i] : other_mean[i] - mean[i];
    squares[i] += other_squares[i] + (to.count == 0 ? 0 : delta * delta * between);
    mean[i] += delta * share;
  }
  to.count += other.count;
}

void gather_sums(const CellWalk& cells, const WalkPlace& place, const SumsKernel& kernel,
                 Range range, Range units, Gathered& to) {
  Scratch scratch;
  BlockSums block(cells, place, kernel, range, scratch);
  std::int64_t in_block = 0;
  each_block(cells, range, units, call_rows(cells), [&](const WalkBlock& at, std::int64_t samples) {
    block.add(at, nullptr);
    to.count += samples;
    in_block += samples;
    if (in_block < block_samples(cells)) return;
    block.move_to(to);
    in_block = 0;
  });
  block.move_to(to);
}

SumsSpec moments_spec(const CellWalk& cells, Isa isa) {
  SumsSpec spec{.rows = {.isa = isa,
                         .body = {},
                         .input = cells.walk.dtypes[Walk::kInput],
                         .output = DType::f32,
                         .input_lane_stride = cells.walk.lane_stride(Walk::kInput),
                         .lanes_are_channels = cells.per_lane,
                         .elements = {}},
                .per_lane = cells.per_lane};
  Graph& graph = spec.rows.body.graph;
  const Ref deviation = graph.call(Fn::sub_, graph.leaf(Leaf::input), graph.leaf(Leaf::channel, 0));
  spec.rows.body.roots = {deviation, graph.call(Fn::mul_, deviation, deviation)};
  return spec;
}

void gather_moments(const CellWalk& cells, const WalkPlace& place, const SumsKernel& kernel,
                    Range range, Range units, Gathered& to) {
  Scratch scratch;
  MomentsGatherer gatherer(cells, place, kernel, range, to, scratch);
  each_block(cells, range, units, call_rows(cells),
             [&](const WalkBlock& at, std::int64_t samples) { gatherer.take(at, samples); });
  gatherer.finish();
}

}  // namespace fuseplan::cpu
