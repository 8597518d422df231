// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/depthwise/program.hpp"
#include "kernels/cpu/depthwise/stage.hpp"

namespace fuseplan::cpu {
namespace {

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

// Columns in lanes. The unit of work is a band of output rows of a group of channels; units that
// read the same input rows (outputs of one channel) are neighbours.
class ColumnsProgram final : public DepthwiseProgram {
 public:
  ColumnsProgram(const DepthwisePlan& plan, const SplitChain& chain,
                 const DepthwiseEntries& entries)
      : DepthwiseProgram(plan, chain, entries) {
    first_full_ = ceil_div(g_.pad_lo[1], g_.stride[1]);
    const std::int64_t last =
        g_.input.len[3] - 1 - (g_.filter[1] - 1) * g_.dilation[1] + g_.pad_lo[1];
    end_full_ = last < 0 ? 0 : last / g_.stride[1] + 1;
  }

  void run(const Arguments& arguments) const override;

 private:
  class Worker;

  std::int64_t first_full_, end_full_;  // output rows that read all taps
};

// One thread's buffers, and the band it works on: output rows [index[3], end_) of channels_
// channels from index[1] on.
class ColumnsProgram::Worker {
 public:
  Worker(const ColumnsProgram& program, const Launch& launched, Scratch& scratch)
      : program_(program),
        plan_(program.plan_),
        g_(program.g_),
        launched_(launched),
        chain_(plan_.tensors(), entry<RowsCall>(program.rows_), launched.arguments, launched.frame,
               scratch) {
    taps_ =
        scratch.take_array<DepthwiseTaps>(static_cast<std::size_t>(g_.filter[0] * g_.filter[1]));
    sums_ = scratch.take_array<float>(static_cast<std::size_t>(plan_.group * plan_.sums_pitch));
    const auto floats = static_cast<std::size_t>(plan_.group * plan_.stage_channel_floats());
    stage_ = scratch.take_array<float>(floats);
    std::fill_n(stage_, floats, 0.0f);
  }

  void run_band(const Index& index) {
    end_ = std::min(index[3] + plan_.band_rows, g_.output.len[3]);
    channels_ = std::min(plan_.group, g_.output.len[1] - index[1]);
    first_input_row_ = std::max<std::int64_t>(0, index[3] * g_.stride[1] - g_.pad_lo[1]);
    if (plan_.staged) stage(index);
    for (std::int64_t row = index[3]; row < end_;) row += sum_rows(index, row);
    finish(index);
  }

 private:
  // The largest tile that fits; rows that lack taps at the top or bottom go alone.
  std::int64_t sum_rows(const Index& index, std::int64_t row) {
    const bool full = row >= program_.first_full_;
    const std::int64_t most = full ? std::min(end_, program_.end_full_) - row : 1;
    std::size_t tile = 0;
    while (tile + 1 < plan_.tile_rows.size() && plan_.tile_rows[tile] > most) ++tile;
    SumsCall call;
    call.taps = taps_;
    call.tap_count = list_taps(index, row);
    call.sums = sums_ + (row - index[3]) * g_.output.len[4];
    call.channels = channels_;
    call.x_step = plan_.staged
                      ? plan_.stage_channel_floats() * kFloat
                      : g_.input.stride[1] * static_cast<std::int64_t>(size_of(plan_.input));
    entry<SumsCall>(program_.sums_[tile])(&call);
    return plan_.tile_rows[tile];
  }

  const std::byte* raw_row(const Index& index, int depth_tap, std::int64_t row) const {
    return at(launched_.arguments.input, plan_.input, g_.input,
              {index[0], index[1] / plan_.multiplier,
               index[2] * g_.stride[0] - g_.pad_lo[0] + depth_tap * g_.dilation[0], row, 0});
  }
  const std::byte* input_row(const Index& index, int depth_tap, std::int64_t row) const {
    if (!plan_.staged) return raw_row(index, depth_tap, row);
    const std::int64_t number = depth_tap * plan_.staged_rows + row - first_input_row_;
    return reinterpret_cast<const std::byte*>(stage_ + number * plan_.stage_row_floats());
  }

  std::int64_t list_taps(const Index& index, std::int64_t row) {
    const TapSpan depths = taps_inside(g_, 0, index[2]), heights = taps_inside(g_, 1, row);
    const std::int64_t first = row * g_.stride[1] - g_.pad_lo[1];
    const auto* weights = static_cast<const float*>(launched_.arguments.weights) +
                          index[1] * g_.filter[0] * g_.filter[1] * g_.filter[2];
    std::int64_t count = 0;
    for (int d = depths.first; d < depths.end; ++d)
      for (int h = heights.first; h < heights.end; ++h)
        taps_[count++] = {input_row(index, d, first + h * g_.dilation[1]),
                          weights + (d * g_.filter[1] + h) * g_.filter[2]};
    return count;
  }

  void stage(const Index& index) {
    const Index wanted{index[0], index[1] / plan_.multiplier, index[2], index[3], end_};
    if (wanted == held_) return;
    held_ = wanted;
    const std::int64_t last =
        (end_ - 1) * g_.stride[1] - g_.pad_lo[1] + (g_.filter[1] - 1) * g_.dilation[1];
    const std::int64_t rows = std::min(last + 1, g_.input.len[3]) - first_input_row_;
    if (rows <= 0) return;
    // Channels whose rows follow each other are one run of rows.
    const bool joined = g_.filter[0] == 1 && rows == plan_.staged_rows &&
                        g_.input.stride[1] == rows * g_.input.stride[3];
    const TapSpan depths = taps_inside(g_, 0, index[2]);
    for (int d = depths.first; d < depths.end; ++d)
      for (std::int64_t channel = 0; channel < (joined ? 1 : channels_); ++channel)
        stage_rows(index, d, channel, joined ? rows * channels_ : rows);
  }

  void stage_rows(const Index& index, int depth_tap, std::int64_t channel, std::int64_t rows) {
    const auto element = static_cast<std::int64_t>(size_of(plan_.input));
    RowsCall call;
    call.input =
        raw_row(index, depth_tap, first_input_row_) + channel * g_.input.stride[1] * element;
    call.output = stage_ + channel * plan_.stage_channel_floats() +
                  depth_tap * plan_.staged_rows * plan_.stage_row_floats() + plan_.left;
    call.rows = rows;
    call.lanes = g_.input.len[4];
    call.input_step = g_.input.stride[3] * element;
    call.output_step = plan_.stage_row_floats() * kFloat;
    if (program_.stage_ != nullptr) {
      entry<RowsCall>(program_.stage_)(&call);
    } else {
      stage_by_phase(plan_, call);
    }
  }

  void finish(const Index& index) {
    const std::int64_t rows = end_ - index[3], columns = g_.output.len[4];
    if (plan_.joined_rows) {
      chain_.at(index);
      return chain_.finish_rows(sums_, plan_.sums_pitch, channels_, rows * columns);
    }
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      chain_.at({index[0], index[1] + channel, index[2], index[3], 0});
      chain_.finish_rows(sums_ + channel * plan_.sums_pitch, columns, rows, columns);
    }
  }

  const ColumnsProgram& program_;
  const DepthwisePlan& plan_;
  const ConvGeometry& g_;
  const Launch& launched_;
  StripChain chain_;
  DepthwiseTaps* taps_;
  float* sums_;
  float* stage_;
  Index held_{-1, 0, 0, 0, 0};  // what is staged: image, channel, depth, first and end row
  std::int64_t end_ = 0, channels_ = 0, first_input_row_ = 0;
};

void ColumnsProgram::run(const Arguments& arguments) const {
  Scratch scratch;
  const Launch launched = launch(arguments, scratch);
  const auto& len = g_.output.len;
  const std::int64_t bands = ceil_div(len[3], plan_.band_rows);
  const std::int64_t groups = ceil_div(g_.input.len[1], plan_.group);
  const std::int64_t units = len[0] * groups * len[2] * bands * plan_.multiplier;
  const int tasks =
      static_cast<int>(std::min(units, std::int64_t{4} * arguments.parallel.threads()));
  arguments.parallel(tasks, [&](int task) {
    Scratch local;
    Worker worker(*this, launched, local);
    const Range range = split(units, tasks, task);
    for (long unit = range.first; unit < range.last; ++unit) {
      std::int64_t left = unit / plan_.multiplier;
      const std::int64_t band = left % bands, depth = left / bands % len[2];
      left /= bands * len[2];
      const std::int64_t channel =
          left % groups * plan_.group * plan_.multiplier + unit % plan_.multiplier;
      worker.run_band({left / groups, channel, depth, band * plan_.band_rows, 0});
    }
  });
}

}  // namespace

std::unique_ptr<Program> depthwise_program(const DepthwisePlan& plan, const SplitChain& chain,
                                           const DepthwiseEntries& entries) {
  return std::make_unique<ColumnsProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
