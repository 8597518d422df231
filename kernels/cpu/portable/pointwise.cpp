// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/pointwise.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/portable/finisher.hpp"

namespace fuseplan::cpu {
namespace {

class PointwiseProgram final : public Program {
 public:
  PointwiseProgram(const Problem& problem, const SplitChain& chain) : finisher_(problem, chain) {
    finisher_.join_axes();
    order_axes();
    cut_blocks();
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Finisher::Launch launch = finisher_.launch(arguments, scratch);
    std::int64_t total = 1;
    for (std::int64_t count : counts_) total *= count;
    const int tasks = static_cast<int>(
        std::min<std::int64_t>(total, std::int64_t{4} * arguments.parallel.threads()));
    arguments.parallel(tasks, [&](int task) {
      Scratch local;
      Finisher::Worker worker(finisher_, launch, local);
      const Range range = split(total, tasks, task);
      for (long block = range.first; block < range.last; ++block)
        worker.finish(place_of(block), nullptr);
    });
  }

 private:
  // Axes from the widest stride of the output to the narrowest: blocks follow memory.
  void order_axes() {
    const View& output = finisher_.output();
    std::iota(axes_.begin(), axes_.end(), std::size_t{0});
    const auto reach = [&](std::size_t axis) {
      return output.len[axis] == 1 ? INT64_MAX : output.stride[axis];
    };
    std::stable_sort(axes_.begin(), axes_.end(),
                     [&](std::size_t a, std::size_t b) { return reach(a) > reach(b); });
  }

  void cut_blocks() {
    constexpr std::int64_t kBlock = ChainInterpreter<float>::kBlock;
    const View& output = finisher_.output();
    extent_.fill(1);
    extent_[4] = std::min(output.len[axes_[4]], kBlock);
    extent_[3] = std::min(output.len[axes_[3]], kBlock / extent_[4]);
    for (std::size_t i = 0; i < 5; ++i)
      counts_[i] = (output.len[axes_[i]] + extent_[i] - 1) / extent_[i];
  }

  BlockPlace place_of(std::int64_t block) const {
    BlockPlace place;
    place.row_axis = axes_[3];
    place.lane_axis = axes_[4];
    for (std::size_t i = 5; i-- > 0;) {
      place.index[axes_[i]] = block % counts_[i] * extent_[i];
      block /= counts_[i];
    }
    const auto left = [&](std::size_t i) {
      return static_cast<int>(
          std::min(extent_[i], finisher_.output().len[axes_[i]] - place.index[axes_[i]]));
    };
    place.shape = {left(3), left(4), left(4)};
    return place;
  }

  Finisher finisher_;
  std::array<std::size_t, 5> axes_;
  std::array<std::int64_t, 5> extent_, counts_;  // by place in axes_: of a block, and of blocks
};

}  // namespace

std::unique_ptr<Program> portable_pointwise(const Problem& problem, const SplitChain& chain) {
  return std::make_unique<PointwiseProgram>(problem, chain);
}

}  // namespace fuseplan::cpu
