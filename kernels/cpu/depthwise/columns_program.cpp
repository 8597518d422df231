// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/cpu/depthwise/program.hpp"
#include "kernels/cpu/depthwise/stage.hpp"
#include "kernels/cpu/portable/conv_input.hpp"

namespace fuseplan::cpu {
namespace {

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Columns in lanes. The unit of work is a band of output rows of one channel; units that read the
// same input rows are neighbours.
class ColumnsProgram final : public DepthwiseProgram {
 public:
  ColumnsProgram(const DepthwisePlan& plan, const SplitChain& chain,
                 const DepthwiseEntries& entries)
      : DepthwiseProgram(plan, chain, entries) {
    const std::int64_t last_tap = (g_.filter[1] - 1) * g_.dilation[1];
    first_full_ = ceil_div(g_.pad_lo[1], g_.stride[1]);
    const std::int64_t last = g_.input.len[3] - 1 - last_tap + g_.pad_lo[1];
    end_full_ = last < 0 ? 0 : last / g_.stride[1] + 1;
    staged_rows_ = std::min(g_.input.len[3], (plan.band_rows - 1) * g_.stride[1] + last_tap + 1);
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Launch launched = launch(arguments, scratch);
    const auto& len = g_.output.len;
    const std::int64_t bands = ceil_div(len[3], plan_.band_rows);
    const std::int64_t units = len[0] * len[1] * len[2] * bands;
    const int tasks =
        static_cast<int>(std::min(units, std::int64_t{4} * arguments.parallel.threads()));
    arguments.parallel(tasks, [&](int task) {
      Scratch local;
      Worker worker(*this, launched, local);
      const Range range = split(units, tasks, task);
      for (long unit = range.first; unit < range.last; ++unit) {
        std::int64_t left = unit / plan_.multiplier;
        Index index{0, unit % plan_.multiplier, 0, 0, 0};
        index[3] = left % bands * plan_.band_rows;
        left /= bands;
        index[2] = left % len[2];
        left /= len[2];
        index[1] += left % g_.input.len[1] * plan_.multiplier;
        index[0] = left / g_.input.len[1];
        worker.run_band(index);
      }
    });
  }

 private:
  class Worker {
   public:
    Worker(const ColumnsProgram& program, const Launch& launched, Scratch& scratch)
        : program_(program), plan_(program.plan_), g_(program.g_), launched_(launched) {
      taps_ =
          scratch.take_array<DepthwiseTaps>(static_cast<std::size_t>(g_.filter[0] * g_.filter[1]));
      sums_ = scratch.take_array<float>(
          static_cast<std::size_t>(plan_.band_rows * g_.output.len[4] + plan_.lanes()));
      if (!plan_.staged) return;
      const auto floats =
          static_cast<std::size_t>(g_.filter[0] * program_.staged_rows_ * plan_.stage_row_floats());
      stage_ = scratch.take_array<float>(floats);
      std::fill_n(stage_, floats, 0.0f);
    }

    void run_band(const Index& index) {
      const std::int64_t end = std::min(index[3] + plan_.band_rows, g_.output.len[3]);
      first_input_row_ = std::max<std::int64_t>(0, index[3] * g_.stride[1] - g_.pad_lo[1]);
      if (plan_.staged) stage(index, end);
      for (std::int64_t row = index[3]; row < end;) row += sum_rows(index, row, end);
      finish(index, end - index[3]);
    }

   private:
    // The largest tile that fits before `end`; rows that lack taps at the top or bottom go alone.
    std::int64_t sum_rows(const Index& index, std::int64_t row, std::int64_t end) {
      const bool full = row >= program_.first_full_;
      const std::int64_t most = full ? std::min(end, program_.end_full_) - row : 1;
      std::size_t tile = 0;
      while (tile + 1 < plan_.tile_rows.size() && plan_.tile_rows[tile] > most) ++tile;
      const SumsCall call{taps_, list_taps(index, row), sums_ + (row - index[3]) * g_.output.len[4],
                          0, 0};
      entry<SumsCall>(program_.sums_[tile])(&call);
      return plan_.tile_rows[tile];
    }

    Index input_index(const Index& index, int depth_tap, std::int64_t row) const {
      return {index[0], index[1] / plan_.multiplier,
              index[2] * g_.stride[0] - g_.pad_lo[0] + depth_tap * g_.dilation[0], row, 0};
    }
    const std::byte* input_row(const Index& index, int depth_tap, std::int64_t row) const {
      if (!plan_.staged)
        return at(launched_.arguments.input, plan_.input, g_.input,
                  input_index(index, depth_tap, row));
      const std::int64_t number = depth_tap * program_.staged_rows_ + row - first_input_row_;
      return reinterpret_cast<const std::byte*>(stage_ + number * plan_.stage_row_floats());
    }

    std::int64_t list_taps(const Index& index, std::int64_t row) {
      const TapRange depths = taps_inside(g_, 0, index[2]), heights = taps_inside(g_, 1, row);
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

    // The outputs of one input channel follow each other and share its staged rows.
    void stage(const Index& index, std::int64_t end) {
      const Index wanted{index[0], index[1] / plan_.multiplier, index[2], index[3], end};
      if (wanted == held_) return;
      held_ = wanted;
      const std::int64_t last =
          (end - 1) * g_.stride[1] - g_.pad_lo[1] + (g_.filter[1] - 1) * g_.dilation[1];
      const std::int64_t rows = std::min(last + 1, g_.input.len[3]) - first_input_row_;
      const TapRange depths = taps_inside(g_, 0, index[2]);
      for (int d = depths.first; rows > 0 && d < depths.end; ++d) {
        RowsCall call;
        call.input = at(launched_.arguments.input, plan_.input, g_.input,
                        input_index(index, d, first_input_row_));
        call.output = stage_ + d * program_.staged_rows_ * plan_.stage_row_floats() + plan_.left;
        call.rows = rows;
        call.lanes = g_.input.len[4];
        call.input_step = g_.input.stride[3] * static_cast<std::int64_t>(size_of(plan_.input));
        call.output_step = plan_.stage_row_floats() * kFloat;
        if (program_.stage_ != nullptr) {
          entry<RowsCall>(program_.stage_)(&call);
        } else {
          stage_by_phase(plan_, call);
        }
      }
    }

    void finish(const Index& index, std::int64_t rows) const {
      RowsCall call;
      call.input = sums_;
      call.rows = plan_.joined_rows ? 1 : rows;
      call.lanes = g_.output.len[4] * (plan_.joined_rows ? rows : 1);
      call.input_step = g_.output.len[4] * kFloat;
      call.output_step = g_.output.stride[3] * static_cast<std::int64_t>(size_of(plan_.output));
      program_.finish(launched_, index, call);
    }

    const ColumnsProgram& program_;
    const DepthwisePlan& plan_;
    const ConvGeometry& g_;
    const Launch& launched_;
    DepthwiseTaps* taps_;
    float* sums_;
    float* stage_ = nullptr;
    Index held_{-1, 0, 0, 0, 0};  // what is staged: image, channel, depth, first and end row
    std::int64_t first_input_row_ = 0;
  };

  std::int64_t first_full_, end_full_;  // output rows that read all taps
  std::int64_t staged_rows_;            // most input rows of a band
};

}  // namespace

std::unique_ptr<Program> depthwise_columns_program(const DepthwisePlan& plan,
                                                   const SplitChain& chain,
                                                   const DepthwiseEntries& entries) {
  return std::make_unique<ColumnsProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
