// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/launch.hpp"

#include <algorithm>

#include "base/memory.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/direct/ahead.hpp"
#include "kernels/cpu/direct/block.hpp"
#include "kernels/cpu/direct/pack_weights.hpp"
#include "kernels/cpu/direct/schedule.hpp"
#include "kernels/cpu/streaming.hpp"
#include "kernels/cpu/strip_chain.hpp"

namespace fuseplan::cpu {
namespace {

using TileKernel = void (*)(const TileCall*);

constexpr std::int64_t kFloat = sizeof(float);

/// What all threads of one launch share.
struct Launch {
  const DirectPlan& plan;
  std::span<const TileSpec> specs;  ///< of the tiles
  std::span<const TileKernel> tiles;
  StripChain::RowsKernel rows;
  const Arguments& arguments;
  ChainFrame frame;
};

/// One thread's walk through its units, with its own scratch.
class Walk {
 public:
  Walk(const Launch& launch, const Schedule& schedule)
      : launch_(launch),
        schedule_(schedule),
        plan_(launch.plan),
        conv_(plan_.shape.conv),
        moves_(moves_for(plan_.shape.input, plan_.isa)),
        chain_(plan_.shape.tensors(), launch.rows, launch.arguments, launch.frame, scratch_),
        units_in_turn_(schedule.units_in_turn()),
        asks_by_tile_(plan_.asks_for == Asked::weights && schedule.repeats_tiles()) {
    // Turning reads whole squares.
    const std::int64_t pixels =
        plan_.chunks > 1 ? schedule.rows() * plan_.block_columns + moves_.lanes : kStripPixels;
    sums_ = scratch_.take_array<float>(static_cast<std::size_t>(pixels * plan_.tile_lanes));
    chain_.expect_pixels(kStripPixels, plan_.tile_lanes, plan_.isa, scratch_);
    if (launch.arguments.weights_are_raw)
      tile_weights_ = scratch_.take_array<float>(
          static_cast<std::size_t>(plan_.tile_lanes * plan_.depth * plan_.shape.taps()));
    if (plan_.staged)
      stage_ = scratch_.take_array<std::byte>(static_cast<std::size_t>(plan_.stage.bytes()));
  }

  void run(const Block& block, std::int64_t channel_tile) {
    if (!(block == block_)) {
      block_ = block;
      input_ = plan_.staged
                   ? InputMap::of_stage(plan_, moves_, launch_.arguments.input, block, stage_)
                   : InputMap::of_tensor(plan_, launch_.arguments.input, block);
    }
    const bool is_next = channel_tile_ != channel_tile;
    channel_tile_ = channel_tile;
    is_last_ = schedule_.is_last(block);
    if (asks_by_tile_ && is_next) next_weights_ = weights_of_next_tile(plan_.depth);
    if (tile_weights_ != nullptr)
      pack_channel_tile(plan_, launch_.arguments.weights, channel_tile, tile_weights_);
    width_ = static_cast<std::int64_t>(plan_.vectors_of(channel_tile)) * plan_.lanes();
    const std::int64_t within = channel_tile * plan_.tile_lanes;
    channel_ = block.group * conv_.group_outputs + within;
    channels_ = std::min(width_, conv_.group_outputs - within);
    if (plan_.asks_for == Asked::input)
      ahead_ = Ahead(plan_, input_, block, channel_tile % units_in_turn_, units_in_turn_);
    for (std::int64_t chunk = 0; chunk < plan_.chunks; ++chunk) run_chunk(chunk);
  }

 private:
  void run_chunk(std::int64_t chunk) {
    const TapSpan planes = taps_inside(conv_, 0, block_.plane);
    const bool last = chunk + 1 == plan_.chunks;
    if (plan_.asks_for == Asked::weights && !asks_by_tile_) next_weights_ = weights_after(chunk);
    for (std::int64_t row = block_.row; row < block_.row + block_.rows; ++row) {
      const TapSpan rows = taps_inside(conv_, 1, row);
      if (plan_.asks_for == Asked::input) ahead_.start(row - block_.row, chunk);
      for (std::size_t s = block_.strip; s < block_.strip + block_.strips; ++s) {
        const Strip& strip = plan_.tiling.strips[s];
        float* sums = sums_;
        if (plan_.chunks > 1)
          sums += ((row - block_.row) * block_.columns + strip.column - block_.column) * width_;
        if (last) chain_.at({block_.image, channel_, block_.plane, row, strip.column});
        sum(chunk, planes, rows, row, strip, sums, last);
        if (last && !plan_.in_registers) chain_.finish_pixels(sums, width_, strip.width, channels_);
      }
    }
  }

  void sum(std::int64_t chunk, TapSpan planes, TapSpan rows, std::int64_t row, const Strip& strip,
           float* sums, bool last) {
    TileCall call;
    call.weights_ahead = weights_ahead_;
    const bool finish = last && plan_.in_registers;
    if (finish) call.finish = &chain_.call();
    const float* weights = start_chunk(chunk, planes, rows, call);
    for (std::size_t i = strip.first; i < strip.last; ++i) {
      const Tile& tile = plan_.tiling.tiles[i];
      const bool any = planes.count() > 0 && rows.count() > 0 && tile.taps.count() > 0;
      call.planes = any ? planes.count() : 0;
      call.rows = rows.count();
      call.taps = tile.taps.count();
      call.tap_skip = (conv_.filter[2] - tile.taps.count()) * width_ * kFloat;
      call.weights = weights + tile.taps.first * width_;
      call.input = input_.at({block_.plane, row, tile.column},
                             {planes.first, rows.first, tile.taps.first}, chunk * plan_.chunk);
      call.result = sums + (tile.column - strip.column) * width_;
      if (plan_.asks_for == Asked::input) ahead_.share(call);
      const auto kernel = static_cast<std::size_t>(plan_.kernel_of(tile.variant, channel_tile_));
      if (plan_.asks_for == Asked::weights) next_weights_.share(launch_.specs[kernel], call);
      if (last && !finish && !plan_.rows.streaming) {
        const std::int64_t column = tile.column - strip.column;
        chain_.expect_stores(channels_, column, column + tile.pixels);
      }
      launch_.tiles[kernel](&call);
      if (finish) chain_.skip_rows(tile.pixels);
    }
  }

  /// What all tiles of a chunk share; returns the weights of its first tap.
  const float* start_chunk(std::int64_t chunk, TapSpan planes, TapSpan rows, TileCall& call) const {
    const auto& filter = conv_.filter;
    const std::int64_t first = chunk * plan_.chunk;
    const std::int64_t steps = std::min(plan_.chunk, plan_.depth - first);
    call.single = plan_.odd && chunk + 1 == plan_.chunks ? 1 : 0;
    call.channels = steps - call.single;
    call.accumulate = chunk > 0 ? 1 : 0;
    const std::int64_t row_weights = steps * filter[2] * width_;
    call.weight_skip = (filter[1] - rows.count()) * row_weights * kFloat;
    return tile_weights() + first * plan_.shape.taps() * width_ +
           (planes.first * filter[1] + rows.first) * row_weights;
  }

  NextWeights weights_after(std::int64_t chunk) const {
    if (chunk + 1 == plan_.chunks) return weights_of_next_tile(plan_.chunk);
    return weights_of(channel_tile_, (chunk + 1) * plan_.chunk, plan_.chunk);
  }
  /// The first tile's follow the last one's where another block does.
  NextWeights weights_of_next_tile(std::int64_t steps) const {
    const std::int64_t next = (channel_tile_ + 1) % plan_.tiles_of_channels;
    if (next == 0 && (asks_by_tile_ || is_last_)) return {};
    return weights_of(next, 0, steps);
  }
  NextWeights weights_of(std::int64_t channel_tile, std::int64_t step, std::int64_t steps) const {
    if (tile_weights_ != nullptr) return {};
    const std::int64_t width = std::int64_t{plan_.vectors_of(channel_tile)} * plan_.lanes();
    const std::int64_t of_step = plan_.shape.taps() * width;
    return {static_cast<const float*>(launch_.arguments.weights) +
                plan_.weight_offset(channel_tile) + step * of_step,
            std::min(steps, plan_.depth - step) * of_step * kFloat};
  }

  const float* tile_weights() const {
    if (tile_weights_ != nullptr) return tile_weights_;
    return static_cast<const float*>(launch_.arguments.weights) +
           block_.group * plan_.weight_offset(plan_.tiles_of_channels) +
           plan_.weight_offset(channel_tile_);
  }

  const Launch& launch_;
  const Schedule& schedule_;
  const DirectPlan& plan_;
  const ConvGeometry& conv_;
  const std::int64_t weights_ahead_ = core_rates(host_family()).weights_ahead;
  Moves moves_;
  Scratch scratch_;
  StripChain chain_;
  float* sums_ = nullptr;
  float* tile_weights_ = nullptr;  ///< packed in passing, if the weights are raw
  std::byte* stage_ = nullptr;
  Block block_;
  InputMap input_;
  Ahead ahead_;
  NextWeights next_weights_;
  bool is_last_ = false;  ///< of all blocks
  const std::int64_t units_in_turn_;
  const bool asks_by_tile_;  ///< while blocks follow one another that read the same tile's weights
  std::int64_t channel_tile_ = -1, channel_ = 0, channels_ = 0;
  std::int64_t width_ = 0;  ///< lanes of the present tile of channels
};

class DirectProgram final : public Program {
 public:
  DirectProgram(const DirectPlan& plan, const SplitChain& chain,
                std::span<const void* const> entries)
      : plan_(plan),
        specs_(plan.specs()),
        runner_(chain, plan.shape.conv.output.len[1], prologue(plan, entries)) {
    const std::size_t tiles = specs_.size();
    for (std::size_t i = 0; i < tiles; ++i) tiles_.push_back(kernel_at<TileKernel>(entries[i]));
    if (!plan.in_registers) rows_ = kernel_at<StripChain::RowsKernel>(entries[tiles]);
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Launch launch{plan_, specs_,    tiles_,
                        rows_, arguments, runner_.prepare(arguments, scratch)};
    const Schedule schedule(plan_, arguments.parallel.threads(), arguments.weights_are_raw);
    arguments.parallel(schedule.parts(), [&](int part) {
      Walk walk(launch, schedule);
      schedule.for_each_unit(part,
                             [&](const Block& block, std::int64_t tile) { walk.run(block, tile); });
      fence_streams();
    });
  }

  std::size_t prepared_bytes() const override { return packed_weight_bytes(plan_); }
  std::string weight_format() const override { return packed_weight_format(plan_); }
  bool takes_raw_weights() const override { return packs_in_passing(plan_); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    pack_weights(plan_, raw, prepared, parallel);
  }

 private:
  static const void* prologue(const DirectPlan& plan, std::span<const void* const> entries) {
    const std::size_t before = plan.specs().size() + (plan.in_registers ? 0 : 1);
    return entries.size() > before ? entries[before] : nullptr;
  }

  DirectPlan plan_;
  std::vector<TileSpec> specs_;  ///< of the tiles
  std::vector<TileKernel> tiles_;
  StripChain::RowsKernel rows_ = nullptr;  ///< unless the tile kernels finish
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> direct_program(const DirectPlan& plan, const SplitChain& chain,
                                        std::span<const void* const> entries) {
  return std::make_unique<DirectProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
