// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/gathered.hpp"

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
    const auto roots = static_cast<std::int64_t>(kernel_.roots);
    for (std::int64_t r = 0; r < roots; ++r) {
      double* values = to.of(static_cast<std::size_t>(r));
      if (cells_.per_lane) {
        const float* from = sums_ + r * root_stride_;
        for (std::int64_t i = 0; i < count_; ++i) values[i] += static_cast<double>(from[i]);
      } else {
        for (std::int64_t i = 0; i < count_; ++i)
          values[i] += static_cast<double>(sum_of(sums_ + (i * roots + r) * kSumLanes));
      }
    }
    clear();
  }

 private:
  void clear() { std::fill_n(sums_, size_, 0.0f); }

  const CellWalk& cells_;
  const WalkPlace& place_;
  const SumsKernel& kernel_;
  std::int64_t count_, root_stride_, size_ = 0;
  float* sums_;
};

std::int64_t block_samples(const CellWalk& cells) {
  return cells.per_lane ? kBlockRows : kBlockSamples;
}

/// Rows of a call: few enough that the sums of some lanes over all of them meet the lines that the
/// lanes before brought in, and that rows are read about in memory order.
std::int64_t call_rows(const CellWalk& cells, Range range) {
  constexpr std::int64_t kCallBytes = 64 << 10, kFewest = 8;
  const std::int64_t row = cells.unit_bytes(range.last - range.first);
  return std::clamp(kCallBytes / std::max<std::int64_t>(row, 1), kFewest, kBlockRows);
}

/// Mean and squared deviations of the samples whose deviations from the pivots `sums` holds.
void moments_of(const Gathered& sums, const float* pivots, const Gathered& moments) {
  const double inverse = 1 / static_cast<double>(sums.count);
  const double *first = sums.of(0), *second = sums.of(1);
  double *mean = moments.of(0), *squares = moments.of(1);
  for (std::int64_t i = 0; i < sums.cells; ++i) {
    const double shift = first[i] * inverse;
    mean[i] = static_cast<double>(pivots[i]) + shift;
    squares[i] = std::max(second[i] - first[i] * shift, 0.0);
  }
}

/// A pivot that is not finite would hide which value of the formula is not.
float pivot_near(double mean) {
  const auto pivot = static_cast<float>(mean);
  return std::isfinite(pivot) ? pivot : 0.0f;
}

/// Takes the samples of a range block by block.
class MomentsGatherer {
 public:
  MomentsGatherer(const CellWalk& cells, const WalkPlace& place, const SumsKernel& kernel,
                  Range range, Gathered& total, Scratch& scratch)
      : cells_(cells),
        block_(cells, place, kernel, range, scratch),
        total_(total),
        segment_(nothing_gathered(total_.cells, 2, scratch)),
        part_(nothing_gathered(total_.cells, 2, scratch)),
        pivots_(scratch.take_array<float>(static_cast<std::size_t>(segment_.stride))) {
    std::fill_n(pivots_, segment_.stride, 0.0f);
  }

  void take(const WalkBlock& block, std::int64_t samples) {
    if (total_.count == 0 && segment_.count == 0) choose_first_pivots(block);
    block_.add(block, pivots_);
    segment_.count += samples;
    in_block_ += samples;
    if (in_block_ < block_samples(cells_)) return;
    flush();
    if (segment_.count >= total_.count) end_segment();
  }

  void finish() {
    flush();
    if (segment_.count > 0) end_segment();
  }

 private:
  void choose_first_pivots(WalkBlock block) {
    block.rows = cells_.per_lane ? std::min(block.rows, kPivotRows) : block.rows;
    block.lanes = cells_.per_lane ? block.lanes : std::min(block.lanes, kPivotLanes);
    block_.add(block, pivots_);
    block_.move_to(segment_);
    const auto count = static_cast<double>(cells_.per_lane ? block.rows : block.lanes);
    for (std::int64_t i = 0; i < segment_.cells; ++i)
      pivots_[i] = pivot_near(segment_.of(0)[i] / count);
    clear_segment();
  }

  void flush() {
    block_.move_to(segment_);
    in_block_ = 0;
  }

  void end_segment() {
    part_.count = segment_.count;
    moments_of(segment_, pivots_, part_);
    add_moments(total_, part_);
    for (std::int64_t i = 0; i < total_.cells; ++i) pivots_[i] = pivot_near(total_.of(0)[i]);
    clear_segment();
  }

  void clear_segment() {
    std::fill_n(segment_.values, 2 * segment_.stride, 0.0);
    segment_.count = 0;
  }

  const CellWalk& cells_;
  BlockSums block_;
  Gathered& total_;
  Gathered segment_, part_;
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
  each_block(cells, range, units, call_rows(cells, range),
             [&](const WalkBlock& at, std::int64_t samples) {
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
  each_block(cells, range, units, call_rows(cells, range),
             [&](const WalkBlock& at, std::int64_t samples) { gatherer.take(at, samples); });
  gatherer.finish();
}

}  // namespace fuseplan::cpu
