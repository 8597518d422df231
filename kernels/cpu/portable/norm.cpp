// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/norm.hpp"

#include <algorithm>

#include "kernels/cpu/norm_results.hpp"
#include "kernels/cpu/portable/batch_cut.hpp"
#include "kernels/cpu/portable/pointwise.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::size_t kBlock = ChainInterpreter<float>::kBlock;

/// Two numbers per statistic: mean and squared differences, or two sums.
struct Pair {
  double* first;
  double* second;
};

Pair take_pair(Scratch& scratch, std::size_t count) {
  return {scratch.take_array<double>(count), scratch.take_array<double>(count)};
}

// The union of two sets of values of known mean and squared differences: Chan, Golub and LeVeque
// 1983, formula 2.1.
void join_moments(double count, double& mean, double& squares, double new_count, double new_mean,
                  double new_squares) {
  const double total = count + new_count, apart = new_mean - mean;
  mean += apart * (new_count / total);
  squares += new_squares + apart * apart * (count * new_count / total);
}

template <typename F>
void for_each_value(const BlockShape& shape, const BatchCut::Slots& slots, const F& value) {
  for (int row = 0; row < shape.rows; ++row)
    for (int lane = 0; lane < shape.lanes; ++lane)
      value(static_cast<std::size_t>(row * slots.row + lane * slots.lane),
            static_cast<std::size_t>(row * shape.pitch + lane));
}

/// Both passes and what stands between them: see NormStages.
class NormProgram final : public Program {
 public:
  NormProgram(const Problem& problem, const SplitChain& chain)
      : stages_(*norm_stages(problem, chain)),
        results_(stages_, chain),
        cut_(view_of(problem.input()), view_of(stages_.statistics)),
        input_(view_of(problem.input())),
        input_dtype_(problem.input().dtype),
        second_pass_(portable_pointwise(problem, chain)) {
    if (stages_.backward) sums_.emplace(problem, chain.sums.front());
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const auto groups = static_cast<std::size_t>(cut_.groups());
    const auto chunks = static_cast<std::size_t>(cut_.chunks());
    const Pair partial = take_pair(scratch, groups * chunks);
    double* counts = scratch.take_array<double>(chunks);
    float* first = scratch.take_array<float>(groups);
    float* second = scratch.take_array<float>(groups);
    if (stages_.backward) {
      sum_gradients(arguments, partial);
    } else {
      take_moments(arguments, partial, counts);
    }
    const auto pieces = static_cast<int>((groups + kBlock - 1) / kBlock);
    arguments.parallel(pieces, [&](int piece) {
      const Range range{
          static_cast<long>(kBlock) * piece,
          std::min(static_cast<long>(groups), static_cast<long>(kBlock) * (piece + 1))};
      write(arguments, range, partial, counts, first, second);
    });
    second_pass_->run(SecondPass(arguments, stages_, first, second).arguments());
  }

 private:
  void take_moments(const Arguments& arguments, Pair partial, double* counts) const {
    arguments.parallel(cut_.tasks(), [&](int task) {
      Scratch scratch;
      const Pair total = take_pair(scratch, kBlock), block = take_pair(scratch, kBlock);
      float* values = scratch.take_array<float>(kBlock);
      double count = 0;
      std::fill_n(total.first, kBlock, 0.0);
      std::fill_n(total.second, kBlock, 0.0);
      cut_.for_each_block(task, [&](const BlockPlace& place) {
        const BatchCut::Slots slots = cut_.slots_of(place);
        load(arguments, place, values);
        moments_of(place.shape, slots, values, block);
        const double added = slots.values(place.shape);
        for (int s = 0; s < slots.count; ++s)
          join_moments(count, total.first[s], total.second[s], added, block.first[s],
                       block.second[s]);
        count += added;
      });
      if (task % (cut_.tasks() / cut_.chunks()) == 0) counts[cut_.chunk_of(task)] = count;
      scatter(task, total, partial);
    });
  }

  void load(const Arguments& arguments, const BlockPlace& place, float* values) const {
    const auto offset =
        offset_in(input_, place.index) * static_cast<std::int64_t>(size_of(input_dtype_));
    load_block(input_dtype_, static_cast<const std::byte*>(arguments.input) + offset,
               {input_.stride[place.row_axis], input_.stride[place.lane_axis]}, place.shape,
               values);
  }

  // Mean first, then differences from it, while the block lies in cache.
  static void moments_of(const BlockShape& shape, const BatchCut::Slots& slots, const float* values,
                         Pair block) {
    const auto count = static_cast<std::size_t>(slots.count);
    const double share = 1.0 / slots.values(shape);
    std::fill_n(block.first, count, 0.0);
    std::fill_n(block.second, count, 0.0);
    for_each_value(shape, slots,
                   [&](std::size_t slot, std::size_t at) { block.first[slot] += values[at]; });
    for (std::size_t s = 0; s < count; ++s) block.first[s] *= share;
    for_each_value(shape, slots, [&](std::size_t slot, std::size_t at) {
      const double apart = values[at] - block.first[slot];
      block.second[slot] += apart * apart;
    });
  }

  void sum_gradients(const Arguments& arguments, Pair partial) const {
    Scratch outer;
    const Finisher::Launch launch = sums_->launch(arguments, outer);
    arguments.parallel(cut_.tasks(), [&](int task) {
      Scratch scratch;
      const Pair total = take_pair(scratch, kBlock);
      std::fill_n(total.first, kBlock, 0.0);
      std::fill_n(total.second, kBlock, 0.0);
      Finisher::Worker worker(*sums_, launch, scratch);
      cut_.for_each_block(task, [&](const BlockPlace& place) {
        worker.evaluate(place, nullptr);
        const float *d = worker.root(0), *product = worker.root(1);
        for_each_value(place.shape, cut_.slots_of(place), [&](std::size_t slot, std::size_t at) {
          total.first[slot] += d[at];
          total.second[slot] += product[at];
        });
      });
      scatter(task, total, partial);
    });
  }

  // A task's slots to their places among all groups of its chunk.
  void scatter(int task, Pair total, Pair partial) const {
    const std::int64_t chunk = cut_.chunk_of(task) * cut_.groups();
    const int slots = cut_.slot_count(task);
    for (int s = 0; s < slots; ++s) {
      const std::int64_t at = chunk + cut_.group_of(task, s);
      partial.first[at] = total.first[s];
      partial.second[at] = total.second[s];
    }
  }

  // The chunks of the groups of `range`, joined in order.
  void write(const Arguments& arguments, Range range, Pair partial, const double* counts,
             float* first, float* second) const {
    double a[kBlock], b[kBlock];
    for (long group = range.first; group < range.last; ++group) {
      double &x = a[group - range.first] = 0, &y = b[group - range.first] = 0;
      double count = 0;
      for (int chunk = 0; chunk < cut_.chunks(); ++chunk) {
        const std::int64_t at = chunk * cut_.groups() + group;
        if (stages_.backward) {
          x += partial.first[at];
          y += partial.second[at];
        } else {
          join_moments(count, x, y, counts[chunk], partial.first[at], partial.second[at]);
          count += counts[chunk];
        }
      }
    }
    if (stages_.backward) return results_.write_gradients(arguments, range, a, b, first, second);
    results_.write_moments(arguments, range, a, b, first, second);
  }

  NormStages stages_;
  NormResults results_;
  BatchCut cut_;
  View input_;
  DType input_dtype_;
  std::optional<Finisher> sums_;
  std::unique_ptr<Program> second_pass_;
};

}  // namespace

std::unique_ptr<Program> portable_norm(const Problem& problem, const SplitChain& chain) {
  return std::make_unique<NormProgram>(problem, chain);
}

}  // namespace fuseplan::cpu
