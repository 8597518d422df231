// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/launch.hpp"

#include <algorithm>

#include "base/memory.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/int8/pack_weights.hpp"
#include "kernels/cpu/int8/stage.hpp"
#include "kernels/cpu/strip_chain.hpp"

namespace fuseplan::cpu {
namespace {

using TileKernel = void (*)(ByteTileCall*);

constexpr std::int64_t kStripPixels = 64;  // whose sums wait in the first-level cache

/// What all threads of one launch share.
struct Launch {
  const BytePlan& plan;
  std::span<const TileKernel> tiles;
  StripChain::RowsKernel rows;
  const Arguments& arguments;
  ChainFrame frame;
};

/// Neighbouring pixels, by their first.
struct Pixels {
  std::int64_t row, column, count;
};

/// One thread's walk through its units, with its own scratch.
class Walk {
 public:
  explicit Walk(const Launch& launch)
      : launch_(launch),
        plan_(launch.plan),
        conv_(plan_.shape.conv),
        moves_(byte_moves_for(plan_.is_signed(), plan_.dot.kind, plan_.isa)),
        chain_(plan_.shape.tensors(), launch.rows, launch.arguments, launch.frame, scratch_) {
    if (plan_.staged) stage_ = scratch_.take_array<std::byte>(stage_bytes(plan_));
    if (plan_.finished) return;
    chain_.expect_pixels(kStripPixels, plan_.tile_lanes, plan_.isa, scratch_);
    // Turning reads whole squares.
    sums_ = scratch_.take_array<float>(
        static_cast<std::size_t>((kStripPixels + plan_.lanes()) * plan_.tile_lanes));
  }

  void run(const ByteWindow& window, std::int64_t channel_tile) {
    if (!(window == window_)) {
      window_ = window;
      if (plan_.staged) stage_window(plan_, moves_, launch_.arguments.input, window, stage_);
    }
    channel_tile_ = channel_tile;
    width_ = static_cast<std::int64_t>(plan_.vectors_of(channel_tile)) * plan_.lanes();
    const std::int64_t within = channel_tile * plan_.tile_lanes;
    channel_ = window.group * conv_.group_outputs + within;
    channels_ = std::min(width_, conv_.group_outputs - within);
    call_.weights = static_cast<const std::byte*>(launch_.arguments.weights) +
                    window.group * plan_.weight_offset(plan_.tiles_of_channels) +
                    plan_.weight_offset(channel_tile);
    if (plan_.finished) return run_finished();
    for (std::int64_t row = window.row; row < window.row + window.rows; row += plan_.tile_rows)
      plan_.tile_rows == 1 ? run_row(row) : run_band(row);
  }

 private:
  // Tiles of one size and neighbourhood in one call.
  void run_finished() {
    const std::int64_t end = window_.row + window_.rows;
    if (plan_.tile_rows > 1) {
      const auto variant = [&](std::int64_t row) { return plan_.bands.of(row / plan_.tile_rows); };
      for (std::int64_t row = window_.row, next = row; row < end; row = next) {
        std::int64_t bands = 0;
        for (; next < end && variant(next) == variant(row); next += plan_.tile_rows) ++bands;
        run_tiles({row, 0, plan_.variants[variant(row)].pixels}, bands);
      }
      return;
    }
    const auto& tiles = plan_.row_tiles;
    for (std::int64_t row = window_.row; row < end; ++row)
      for (std::size_t t = window_.first_tile, next = t; t < window_.last_tile; t = next) {
        while (next < window_.last_tile && tiles[next].pixels == tiles[t].pixels) ++next;
        run_tiles({row, tiles[t].column, tiles[t].pixels}, static_cast<std::int64_t>(next - t));
      }
  }

  void run_tiles(const Pixels& first, std::int64_t count) {
    call_.chain = &point_at(first);
    run_tile(first, count);
  }

  void run_row(std::int64_t row) {
    Pixels strip{row, window_.column, 0};
    for (std::size_t t = window_.first_tile; t < window_.last_tile; ++t) {
      const ByteRowTile& tile = plan_.row_tiles[t];
      if (strip.count + tile.pixels > kStripPixels) {
        finish(strip, sums_);
        strip = {row, tile.column, 0};
      }
      call_.sums = sums_ + strip.count * width_;
      run_tile({row, tile.column, tile.pixels}, 1);
      strip.count += tile.pixels;
    }
    finish(strip, sums_);
  }

  void run_band(std::int64_t row) {
    const std::int64_t width = conv_.output.len[4];
    const std::int64_t rows = std::min<std::int64_t>(plan_.tile_rows, conv_.output.len[3] - row);
    call_.sums = sums_;
    run_tile({row, 0, rows * width}, 1);
    for (std::int64_t r = 0; r < rows; ++r) finish({row + r, 0, width}, sums_ + r * width * width_);
  }

  void run_tile(const Pixels& first, std::int64_t count) {
    call_.input = input_at(first.row, first.column);
    call_.tiles = count;
    launch_.tiles[plan_.kernel_of(first.row, first.count, channel_tile_)](&call_);
  }

  const void* input_at(std::int64_t row, std::int64_t column) const {
    const PixelSteps& steps = plan_.variants.front().input;
    if (plan_.staged)
      return stage_ + (row - window_.row) * steps.row + (column - window_.column) * steps.column;
    const auto& stride = conv_.input.stride;
    return static_cast<const std::byte*>(launch_.arguments.input) + window_.image * stride[0] +
           window_.group * conv_.group_inputs * stride[1] +
           window_.plane * conv_.stride[0] * stride[2] + row * steps.row + column * steps.column;
  }

  RowsCall& point_at(const Pixels& pixels) {
    return chain_.at({window_.image, channel_, window_.plane, pixels.row, pixels.column});
  }

  // Applies the chain to sums that the tiles have left, and stores.
  void finish(const Pixels& pixels, const float* sums) {
    point_at(pixels);
    chain_.finish_pixels(sums, width_, pixels.count, channels_);
  }

  const Launch& launch_;
  const BytePlan& plan_;
  const ConvGeometry& conv_;
  ByteMoves moves_;
  Scratch scratch_;
  StripChain chain_;
  std::byte* stage_ = nullptr;
  float* sums_ = nullptr;  // sums are i32, moved as floats
  ByteWindow window_;
  ByteTileCall call_;
  std::int64_t channel_tile_ = 0, channel_ = 0, channels_ = 0;
  std::int64_t width_ = 0;  ///< lanes of the present tile of channels
};

class ByteProgram final : public Program {
 public:
  ByteProgram(const BytePlan& plan, const SplitChain& chain, std::span<const void* const> entries)
      : plan_(plan), runner_(chain, plan.shape.conv.output.len[1], prologue(plan, entries)) {
    const std::size_t tiles = plan.specs().size();
    for (std::size_t i = 0; i < tiles; ++i) tiles_.push_back(kernel_at<TileKernel>(entries[i]));
    if (!plan.finished) rows_ = kernel_at<StripChain::RowsKernel>(entries[tiles]);
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Launch launch{plan_, tiles_, rows_, arguments, runner_.prepare(arguments, scratch)};
    const ByteSchedule schedule(plan_, arguments.parallel.threads());
    arguments.parallel(schedule.parts(), [&](int part) {
      Walk walk(launch);
      const Range units = split(schedule.units(), schedule.parts(), part);
      for (long unit = units.first; unit < units.last; ++unit)
        walk.run(schedule.window(unit), schedule.channel_tile(unit));
    });
  }

  std::size_t prepared_bytes() const override { return packed_byte_weights_size(plan_); }
  std::string weight_format() const override { return packed_byte_weights_format(plan_); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    pack_byte_weights(plan_, static_cast<const std::int8_t*>(raw),
                      static_cast<std::byte*>(prepared), parallel);
  }

 private:
  static const void* prologue(const BytePlan& plan, std::span<const void* const> entries) {
    const std::size_t before = plan.specs().size() + (plan.finished ? 0 : 1);
    return entries.size() > before ? entries[before] : nullptr;
  }

  BytePlan plan_;
  std::vector<TileKernel> tiles_;
  StripChain::RowsKernel rows_ = nullptr;
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> byte_program(const BytePlan& plan, const SplitChain& chain,
                                      std::span<const void* const> entries) {
  return std::make_unique<ByteProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
