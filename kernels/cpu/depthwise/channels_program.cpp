// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/cpu/depthwise/program.hpp"
#include "kernels/cpu/portable/conv_input.hpp"

namespace fuseplan::cpu {
namespace {

// Channels in lanes. The unit of work is a chunk of channels of one output row.
class ChannelsProgram final : public DepthwiseProgram {
 public:
  using DepthwiseProgram::DepthwiseProgram;

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Launch launched = launch(arguments, scratch);
    const auto& len = g_.output.len;
    const std::int64_t chunks = (len[1] + plan_.chunk - 1) / plan_.chunk;
    const std::int64_t units = len[0] * len[2] * len[3] * chunks;
    const int tasks =
        static_cast<int>(std::min(units, std::int64_t{4} * arguments.parallel.threads()));
    arguments.parallel(tasks, [&](int task) {
      Scratch local;
      auto* taps =
          local.take_array<DepthwiseTaps>(static_cast<std::size_t>(g_.filter[0] * g_.filter[1]));
      auto* sums = local.take_array<float>(static_cast<std::size_t>(len[4] * plan_.chunk));
      const Range range = split(units, tasks, task);
      for (long unit = range.first; unit < range.last; ++unit) {
        const std::int64_t row = unit / chunks;
        run_unit(launched,
                 {row / len[3] / len[2], unit % chunks * plan_.chunk, row / len[3] % len[2],
                  row % len[3], 0},
                 taps, sums);
      }
    });
  }

 private:
  void run_unit(const Launch& launched, const Index& index, DepthwiseTaps* taps,
                float* sums) const {
    const std::int64_t channels = std::min(plan_.chunk, g_.output.len[1] - index[1]);
    SumsCall call;
    call.taps = taps;
    call.tap_count = list_taps(launched, index, taps);
    call.sums = sums;
    call.vectors = channels / plan_.lanes();
    call.tail = channels % plan_.lanes();
    entry<SumsCall>(sums_.front())(&call);
    RowsCall rows;
    rows.input = sums;
    rows.rows = g_.output.len[4];
    rows.lanes = channels;
    rows.input_step = plan_.chunk * static_cast<std::int64_t>(sizeof(float));
    finish(launched, index, 4, rows);
  }

  std::int64_t list_taps(const Launch& launched, const Index& index, DepthwiseTaps* taps) const {
    const TapRange depths = taps_inside(g_, 0, index[2]), heights = taps_inside(g_, 1, index[3]);
    const auto* weights = static_cast<const float*>(launched.arguments.weights) + index[1];
    std::int64_t count = 0;
    for (int d = depths.first; d < depths.end; ++d)
      for (int h = heights.first; h < heights.end; ++h) {
        const Index from{index[0], index[1],
                         index[2] * g_.stride[0] - g_.pad_lo[0] + d * g_.dilation[0],
                         index[3] * g_.stride[1] - g_.pad_lo[1] + h * g_.dilation[1], 0};
        taps[count++] = {at(launched.arguments.input, plan_.input, g_.input, from),
                         weights + (d * g_.filter[1] + h) * g_.filter[2] * plan_.padded_channels};
      }
    return count;
  }
};

}  // namespace

std::unique_ptr<Program> depthwise_channels_program(const DepthwisePlan& plan,
                                                    const SplitChain& chain,
                                                    const DepthwiseEntries& entries) {
  return std::make_unique<ChannelsProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
