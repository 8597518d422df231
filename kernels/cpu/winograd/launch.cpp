// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/launch.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/memory.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/direct/ahead.hpp"
#include "kernels/cpu/winograd/input.hpp"
#include "kernels/cpu/winograd/output.hpp"
#include "kernels/cpu/winograd/schedule.hpp"
#include "kernels/cpu/winograd/weights.hpp"

namespace fuseplan::cpu {
namespace {

using ProductKernel = void (*)(const TileCall*);

/// The program's code.
struct Kernels {
  std::vector<TileSpec> specs;  ///< of the products
  std::vector<ProductKernel> products;
  InputTransform::Kernel input;
  OutputTransform::TileKernel output;
  FilterKernel filter, filter_for_all;  ///< weights that are used at once; all to memory
  StripChain::RowsKernel rows;
  const void* channels = nullptr;

  Kernels(const WinogradPlan& plan, std::span<const void* const> entries) : specs(plan.specs()) {
    std::size_t next = 0;
    while (next < specs.size()) products.push_back(kernel_at<ProductKernel>(entries[next++]));
    input = kernel_at<InputTransform::Kernel>(entries[next++]);
    output = kernel_at<OutputTransform::TileKernel>(entries[next++]);
    filter = filter_for_all = kernel_at<FilterKernel>(entries[next++]);
    if (streams_weights(plan)) filter_for_all = kernel_at<FilterKernel>(entries[next++]);
    rows = kernel_at<StripChain::RowsKernel>(entries[next++]);
    if (next < entries.size()) channels = entries[next];
  }
};

/// What all threads of one launch share.
struct Launch {
  const WinogradPlan& plan;
  const Kernels& kernels;
  const Arguments& arguments;
  ChainFrame frame;
};

/// One thread's walk through its units, with its own scratch.
class Walk {
 public:
  Walk(const Launch& launch, const WinogradSchedule& schedule)
      : launch_(launch),
        plan_(launch.plan),
        schedule_(schedule),
        input_(plan_, launch.kernels.input, launch.arguments.input, scratch_),
        output_(plan_, launch.kernels.output, launch.kernels.rows, launch.arguments, launch.frame,
                scratch_),
        values_(scratch_.take_array<float>(
            static_cast<std::size_t>(plan_.positions() * plan_.values_stride()))),
        sums_(scratch_.take_array<float>(
            static_cast<std::size_t>(plan_.positions() * plan_.sums_stride()))) {
    if (!launch.arguments.weights_are_raw) return;
    filters_.emplace(plan_, launch.kernels.filter, launch.arguments.weights, scratch_);
    passing_weights_ = scratch_.take_array<float>(
        static_cast<std::size_t>(plan_.positions() * plan_.weights_stride(0)));
  }

  void run(std::int64_t unit) {
    const auto blocks = static_cast<int>(schedule_.blocks);
    const auto shares = static_cast<int>(schedule_.shares);
    // Neighbouring units share channels, so that a thread transforms an input block once.
    const auto share = static_cast<int>(unit / blocks), block = static_cast<int>(unit % blocks);
    const Range pieces = split(plan_.pieces, blocks, block);
    const Range channels = split(plan_.channel_tiles, shares, share);
    const std::int64_t first = plan_.piece(pieces.first).first;
    const std::int64_t last = plan_.piece(pieces.last).first;
    is_last_ = block + 1 == blocks;
    input_.run(first, last, values_);
    for (std::int64_t tile = channels.first; tile < channels.last; ++tile) {
      if (filters_) filters_->run(tile, passing_weights_, plan_.weights_stride(tile));
      for (std::int64_t position = 0; position < plan_.positions(); ++position)
        multiply(pieces, channels, tile, position);
      output_.run(first, last, tile, sums_);
    }
  }

 private:
  void multiply(Range pieces, Range channels, std::int64_t channel_tile,
                std::int64_t position) const {
    TileCall call;
    call.planes = call.rows = 1;
    call.channels = plan_.inputs();
    call.weights_ahead = weights_ahead_;
    call.weights = filters_ ? passing_weights_ + position * plan_.weights_stride(channel_tile)
                            : weights_at(channel_tile, position);
    call.input = values_ + position * plan_.values_stride();
    call.result = sums_ + position * plan_.sums_stride();
    NextWeights next = next_weights(channels, channel_tile, position);
    for (std::int64_t piece = pieces.first; piece < pieces.last; ++piece) {
      const Range range = plan_.piece(piece);
      const std::int64_t tiles = range.last - range.first;
      const std::size_t kernel = plan_.kernel_of(tiles, channel_tile);
      if (plan_.asks_ahead) next.share(launch_.kernels.specs[kernel], call);
      launch_.kernels.products[kernel](&call);
      call.input += tiles * plan_.tile_stride();
      call.result += tiles * plan_.width_of(channel_tile);
    }
  }

  const float* weights_at(std::int64_t channel_tile, std::int64_t position) const {
    return static_cast<const float*>(launch_.arguments.weights) +
           winograd_weight_offset(plan_, channel_tile, position);
  }

  /// Of the next position, or tile of channels, or block; none while they are made in passing.
  NextWeights next_weights(Range channels, std::int64_t channel_tile, std::int64_t position) const {
    const bool ends = position + 1 == plan_.positions();
    const bool wraps = ends && channel_tile + 1 == channels.last;
    if (!plan_.asks_ahead || filters_ || (wraps && is_last_)) return {};
    const std::int64_t tile = wraps ? channels.first : channel_tile + (ends ? 1 : 0);
    return {weights_at(tile, ends ? 0 : position + 1),
            plan_.inputs() * plan_.width_of(tile) * std::int64_t{sizeof(float)}};
  }

  const Launch& launch_;
  const WinogradPlan& plan_;
  const WinogradSchedule& schedule_;
  const std::int64_t weights_ahead_ = core_rates(host_family()).weights_ahead;
  Scratch scratch_;
  InputTransform input_;
  OutputTransform output_;
  float *values_, *sums_;
  bool is_last_ = false;                    ///< of the blocks
  std::optional<FilterTransform> filters_;  ///< if the weights are raw
  float* passing_weights_ = nullptr;        ///< of a tile of channels
};

class WinogradProgram final : public Program {
 public:
  WinogradProgram(const WinogradPlan& plan, const SplitChain& chain,
                  std::span<const void* const> entries)
      : plan_(plan), kernels_(plan, entries), runner_(chain, plan.outputs(), kernels_.channels) {}

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Launch launch{plan_, kernels_, arguments, runner_.prepare(arguments, scratch)};
    const WinogradSchedule schedule(plan_, arguments.parallel.threads(), arguments.weights_are_raw);
    arguments.parallel(schedule.parts, [&](int part) {
      Walk walk(launch, schedule);
      const Range units = split(schedule.blocks * schedule.shares, schedule.parts, part);
      for (long unit = units.first; unit < units.last; ++unit) walk.run(unit);
    });
  }

  std::size_t prepared_bytes() const override { return winograd_weight_bytes(plan_); }
  std::string weight_format() const override {
    return fmt::format("winograd:{}x{}:{}x{}:{}x{}", plan_.config.rows, plan_.config.columns,
                       plan_.rows->stride, plan_.columns->stride, plan_.config.vectors,
                       plan_.lanes());
  }
  bool takes_raw_weights() const override { return plan_.takes_raw_weights(); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    transform_weights(plan_, kernels_.filter_for_all, raw, static_cast<float*>(prepared), parallel);
  }

 private:
  WinogradPlan plan_;
  Kernels kernels_;
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> winograd_program(const WinogradPlan& plan, const SplitChain& chain,
                                          std::span<const void* const> entries) {
  return std::make_unique<WinogradProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
