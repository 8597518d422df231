// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/norm.hpp"

#include <algorithm>

#include "kernels/cpu/norm_results.hpp"
#include "kernels/cpu/portable/batch_moments.hpp"
#include "kernels/cpu/portable/pointwise.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::size_t kBlock = ChainInterpreter<float>::kBlock;

/// Two sums per statistic.
struct Pair {
  double* first;
  double* second;
};

Pair take_pair(Scratch& scratch, std::size_t count) {
  return {scratch.take_array<double>(count), scratch.take_array<double>(count)};
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
        moments_(view_of(problem.input()), problem.input().dtype, view_of(stages_.statistics)),
        second_pass_(portable_pointwise(problem, chain)) {
    if (stages_.backward) sums_.emplace(problem, chain.sums.front());
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const auto groups = static_cast<std::size_t>(cut_.groups());
    const auto chunks = static_cast<std::size_t>(stages_.backward ? cut_.chunks() : 1);
    const Pair partial = take_pair(scratch, groups * chunks);
    float* first = scratch.take_array<float>(groups);
    float* second = scratch.take_array<float>(groups);
    if (stages_.backward) {
      sum_gradients(arguments, partial);
    } else {
      moments_.join(arguments.input, arguments.parallel, 0, partial.first, partial.second);
    }
    const auto pieces = static_cast<int>((groups + kBlock - 1) / kBlock);
    arguments.parallel(pieces, [&](int piece) {
      const long start = static_cast<long>(kBlock) * piece;
      const Range range{start, std::min<long>(static_cast<long>(groups), start + kBlock)};
      if (stages_.backward) return write_gradients(arguments, range, partial, first, second);
      results_.write_moments(arguments, range, partial.first + start, partial.second + start, first,
                             second);
    });
    second_pass_->run(SecondPass(arguments, stages_, first, second).arguments());
  }

 private:
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

  // The chunks of the groups of `range`, added in order.
  void write_gradients(const Arguments& arguments, Range range, Pair partial, float* first,
                       float* second) const {
    double sums[kBlock], products[kBlock];
    for (long group = range.first; group < range.last; ++group) {
      double &sum = sums[group - range.first] = 0, &product = products[group - range.first] = 0;
      for (int chunk = 0; chunk < cut_.chunks(); ++chunk) {
        const std::int64_t at = chunk * cut_.groups() + group;
        sum += partial.first[at];
        product += partial.second[at];
      }
    }
    results_.write_gradients(arguments, range, sums, products, first, second);
  }

  NormStages stages_;
  NormResults results_;
  BatchCut cut_;
  BatchMoments moments_;
  std::optional<Finisher> sums_;
  std::unique_ptr<Program> second_pass_;
};

}  // namespace

std::unique_ptr<Program> portable_norm(const Problem& problem, const SplitChain& chain) {
  return std::make_unique<NormProgram>(problem, chain);
}

}  // namespace fuseplan::cpu
