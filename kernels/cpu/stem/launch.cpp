// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/launch.hpp"

#include <algorithm>

#include "base/memory.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/stem/stage.hpp"
#include "kernels/cpu/stem/weights.hpp"
#include "kernels/cpu/streaming.hpp"
#include "kernels/cpu/strip_chain.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

using TileKernel = void (*)(const StemTileCall*);
using InputKernel = void (*)(const InputCall*);

/// The program's code.
struct Kernels {
  std::vector<TileKernel> tiles;
  InputKernel input;
  FilterKernel filter;
  StripChain::RowsKernel rows;
  const void* channels = nullptr;

  Kernels(const StemPlan& plan, std::span<const void* const> entries) {
    std::size_t next = 0;
    while (next < plan.specs().size()) tiles.push_back(kernel_at<TileKernel>(entries[next++]));
    input = kernel_at<InputKernel>(entries[next++]);
    filter = kernel_at<FilterKernel>(entries[next++]);
    rows = kernel_at<StripChain::RowsKernel>(entries[next++]);
    if (next < entries.size()) channels = entries[next];
  }
};

/// One thread's walk through its segments, with its own scratch.
class Walk {
 public:
  Walk(const StemPlan& plan, const Kernels& kernels, const Arguments& arguments,
       const ChainFrame& frame)
      : plan_(plan),
        specs_(plan.specs()),
        kernels_(kernels),
        weights_(static_cast<const float*>(arguments.weights)),
        stage_(plan, arguments.input, scratch_),
        chain_(plan.shape.tensors(), kernels.rows, arguments, frame, scratch_) {
    const auto take = [&](std::int64_t floats) {
      return scratch_.take_array<float>(static_cast<std::size_t>(floats));
    };
    values_ = take(plan.segment_tiles * plan.tile_values());
    // A square behind the last row is read in turning.
    outputs_ = take(plan.rows->outputs * plan.output_row() + plan.lanes() * plan.strip());
    chain_.expect_pixels(plan.output_row() / plan.strip(), plan.strip(), plan.isa, scratch_);
    for (std::int64_t r = 0; r < plan.rows->inputs(); ++r)
      for (std::int64_t c = 0; c < plan.columns->inputs(); ++c)
        points_.push_back(stage_.values() + (r * plan.staged_columns() + c) * plan.width());
  }

  void run(const StemSegment& segment) {
    stage_.run(segment);
    for (std::int64_t tile = 0; tile < segment.tiles; ++tile) {
      const InputCall call{points_.data(), tile * plan_.columns->outputs * plan_.width() * kFloat,
                           values_ + tile * plan_.tile_values(), plan_.width()};
      kernels_.input(&call);
    }
    for (std::int64_t first = 0; first < plan_.vectors; first += plan_.strip_vectors) {
      const std::int64_t end = std::min(first + plan_.strip_vectors, plan_.vectors);
      for (std::int64_t vector = first; vector < end; ++vector)
        multiply(segment, vector, outputs_ + (vector - first) * plan_.lanes());
      finish(segment, first);
    }
  }

 private:
  /// As many tiles at once as a kernel takes, then the rest.
  void multiply(const StemSegment& segment, std::int64_t vector, float* outputs) const {
    StemTileCall call{values_, weights_ + vector * plan_.vector_weights(), outputs, 0};
    std::int64_t left = segment.tiles;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const std::int64_t tiles = specs_[i].tiles;
      if (i > 0 && tiles != left) continue;
      call.groups = left / tiles;
      left %= tiles;
      if (call.groups > 0) kernels_.tiles[i](&call);
      call.values += call.groups * tiles * plan_.tile_values();
      call.outputs += call.groups * tiles * plan_.columns->outputs * plan_.strip();
    }
  }

  void finish(const StemSegment& segment, std::int64_t vector) {
    const View& output = plan_.shape.conv.output;
    const std::int64_t first = segment.row * plan_.rows->outputs;
    const std::int64_t column = segment.column * plan_.columns->outputs;
    const std::int64_t rows = std::min<std::int64_t>(plan_.rows->outputs, output.len[3] - first);
    const std::int64_t columns =
        std::min(segment.tiles * plan_.columns->outputs, output.len[4] - column);
    const std::int64_t channels = std::min(plan_.strip(), plan_.outputs() - vector * plan_.lanes());
    for (std::int64_t row = 0; row < rows; ++row) {
      chain_.at({segment.image, vector * plan_.lanes(), 0, first + row, column});
      chain_.finish_pixels(outputs_ + row * plan_.output_row(), plan_.strip(), columns, channels);
    }
  }

  const StemPlan& plan_;
  const std::vector<StemTileSpec> specs_;
  const Kernels& kernels_;
  const float* weights_;
  Scratch scratch_;
  StemStage stage_;
  StripChain chain_;
  SmallVector<const void*, 64> points_;  ///< of a tile in the staged input
  float *values_ = nullptr, *outputs_ = nullptr;
};

class StemProgram final : public Program {
 public:
  StemProgram(const StemPlan& plan, const SplitChain& chain, std::span<const void* const> entries)
      : plan_(plan), kernels_(plan, entries), runner_(chain, plan.outputs(), kernels_.channels) {}

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const ChainFrame frame = runner_.prepare(arguments, scratch);
    const int parts = static_cast<int>(std::min<std::int64_t>(
        parts_worth(plan_.shape.conv, 2e6, arguments.parallel.threads()), plan_.units()));
    arguments.parallel(parts, [&](int part) {
      Walk walk(plan_, kernels_, arguments, frame);
      const Range units = split(plan_.units(), parts, part);
      for (long unit = units.first; unit < units.last; ++unit) walk.run(plan_.segment(unit));
      fence_streams();
    });
  }

  std::size_t prepared_bytes() const override { return stem_weight_bytes(plan_); }
  std::string weight_format() const override { return stem_weight_format(plan_); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    transform_stem_weights(plan_, kernels_.filter, raw, static_cast<float*>(prepared), parallel);
  }

 private:
  StemPlan plan_;
  Kernels kernels_;
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> stem_program(const StemPlan& plan, const SplitChain& chain,
                                      std::span<const void* const> entries) {
  return std::make_unique<StemProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
