// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/batch_moments.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr int kBlock = static_cast<int>(ChainInterpreter<float>::kBlock);

// The union of two sets of values of known mean and squared differences: Chan, Golub and LeVeque
// 1983, formula 2.1.
void join_moments(double count, double& mean, double& squares, double new_count, double new_mean,
                  double new_squares) {
  const double total = count + new_count, apart = new_mean - mean;
  mean += apart * (new_count / total);
  squares += new_squares + apart * apart * (count * new_count / total);
}

// sum(f(values[i])), in a fixed order that a compiler can vectorise.
template <typename F>
double sum_of(const float* values, int count, const F& f) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += f(values[i + lane]);
  for (; i < count; ++i) lanes[i % kLanes] += f(values[i]);
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

// Mean first, then differences from it, while the block lies in cache.
void moments_of_lanes(const BlockShape& shape, const float* values, double* means,
                      double* squares) {
  const double share = 1.0 / shape.rows;
  std::fill_n(means, shape.lanes, 0.0);
  std::fill_n(squares, shape.lanes, 0.0);
  for (int row = 0; row < shape.rows; ++row)
    for (int lane = 0; lane < shape.lanes; ++lane)
      means[lane] += static_cast<double>(values[row * shape.pitch + lane]);
  for (int lane = 0; lane < shape.lanes; ++lane) means[lane] *= share;
  for (int row = 0; row < shape.rows; ++row)
    for (int lane = 0; lane < shape.lanes; ++lane) {
      const double apart = static_cast<double>(values[row * shape.pitch + lane]) - means[lane];
      squares[lane] += apart * apart;
    }
}

void moments_of_row(const float* values, int count, double& mean, double& squares) {
  mean = sum_of(values, count, [](float x) { return static_cast<double>(x); }) / count;
  squares = sum_of(values, count, [mean](float x) {
    const double apart = static_cast<double>(x) - mean;
    return apart * apart;
  });
}

// By what of the block's rows and lanes belongs to one statistic.
void moments_of(const BlockShape& shape, const BatchCut::Slots& slots, const float* values,
                double* means, double* squares) {
  const int count = static_cast<int>(shape.count());  // blocks are dense
  if (slots.row == 0 && slots.lane == 0) {
    moments_of_row(values, count, means[0], squares[0]);
  } else if (slots.row == 0) {
    moments_of_lanes(shape, values, means, squares);
  } else if (slots.lane == 0) {
    for (int row = 0; row < shape.rows; ++row)
      moments_of_row(values + row * shape.pitch, shape.lanes, means[row], squares[row]);
  } else {
    moments_of_lanes({1, count, count}, values, means, squares);
  }
}

}  // namespace

BatchMoments::BatchMoments(const View& data, DType dtype, const View& statistics)
    : cut_(data, statistics), data_(data), dtype_(dtype) {}

BatchMoments::Pair BatchMoments::take_pair(Scratch& scratch, std::size_t count) {
  return {scratch.take_array<double>(count), scratch.take_array<double>(count)};
}

/// Moments of one task's groups, to their places in `partial`. Returns the values in each.
double BatchMoments::take(int task, const void* data, Pair partial) const {
  Scratch scratch;
  const Pair total = take_pair(scratch, kBlock), block = take_pair(scratch, kBlock);
  float* values = scratch.take_array<float>(kBlock);
  double count = 0;
  std::fill_n(total.means, kBlock, 0.0);
  std::fill_n(total.squares, kBlock, 0.0);
  cut_.for_each_block(task, [&](const BlockPlace& place) {
    const BatchCut::Slots slots = cut_.slots_of(place);
    const auto offset = offset_in(data_, place.index) * static_cast<std::int64_t>(size_of(dtype_));
    load_block(dtype_, static_cast<const std::byte*>(data) + offset,
               {data_.stride[place.row_axis], data_.stride[place.lane_axis]}, place.shape, values);
    moments_of(place.shape, slots, values, block.means, block.squares);
    const double added = slots.values(place.shape);
    for (int s = 0; s < slots.count; ++s)
      join_moments(count, total.means[s], total.squares[s], added, block.means[s],
                   block.squares[s]);
    count += added;
  });
  const std::int64_t chunk = cut_.chunk_of(task) * groups();
  const int slots = cut_.slot_count(task);
  for (int s = 0; s < slots; ++s) {
    const std::int64_t at = chunk + cut_.group_of(task, s);
    partial.means[at] = total.means[s];
    partial.squares[at] = total.squares[s];
  }
  return count;
}

void BatchMoments::join(const void* data, const Parallel& parallel, double count, double* means,
                        double* squares) const {
  Scratch scratch;
  const int chunks = cut_.chunks(), tasks = cut_.tasks();
  const Pair partial =
      take_pair(scratch, static_cast<std::size_t>(groups()) * static_cast<std::size_t>(chunks));
  double* counts = scratch.take_array<double>(static_cast<std::size_t>(chunks));
  parallel(tasks, [&](int task) {
    const double taken = take(task, data, partial);
    if (task % (tasks / chunks) == 0) counts[cut_.chunk_of(task)] = taken;
  });
  for (std::int64_t group = 0; group < groups(); ++group) {
    double known = count;
    if (known == 0) means[group] = squares[group] = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t at = chunk * groups() + group;
      join_moments(known, means[group], squares[group], counts[chunk], partial.means[at],
                   partial.squares[at]);
      known += counts[chunk];
    }
  }
}

}  // namespace fuseplan::cpu
