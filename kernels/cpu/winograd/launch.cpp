// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/launch.hpp"

#include <algorithm>

#include "base/memory.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/winograd/input.hpp"
#include "kernels/cpu/winograd/output.hpp"
#include "kernels/cpu/winograd/weights.hpp"

namespace fuseplan::cpu {
namespace {

using TileKernel = void (*)(const TileCall*);

/// How a launch is dealt out: a unit is a block of pieces with a share of the tiles of output
/// channels. Blocks are cut smaller for more threads, which changes no sum: each is of one tile and
/// one output channel, over the input channels in order.
struct Schedule {
  Schedule(const WinogradPlan& plan, int threads) {
    constexpr std::int64_t kUnitsPerThread = 4;
    const auto blocks_of = [&](std::int64_t size) { return (plan.pieces + size - 1) / size; };
    block_pieces = plan.block_pieces;
    // Every block reads all weights. Where these come from memory, blocks are left as they are and
    // threads divide the channels; the input is then transformed by each of them.
    const bool many_weights = winograd_weight_bytes(plan) > kManyWeights;
    while (threads > 1 && !many_weights && block_pieces > 1 &&
           blocks_of(block_pieces) < kUnitsPerThread * threads)
      --block_pieces;
    blocks = blocks_of(block_pieces);
    if (threads > 1 && (blocks < threads || (many_weights && blocks % threads != 0)))
      shares = std::min<std::int64_t>(plan.channel_tiles, threads);
    parts = static_cast<int>(std::min<std::int64_t>(threads, blocks * shares));
  }
  /// Bytes of transformed weights that second-level caches do not keep between blocks.
  static constexpr std::size_t kManyWeights = std::size_t{4} << 20;
  std::int64_t block_pieces = 1, blocks = 1, shares = 1;
  int parts = 1;
};

/// What all threads of one launch share.
struct Launch {
  const WinogradPlan& plan;
  std::span<const TileKernel> products;
  OutputTransform::RowsKernel rows;
  const Arguments& arguments;
  ChainFrame frame;
};

/// One thread's walk through its units, with its own scratch.
class Walk {
 public:
  Walk(const Launch& launch, const Schedule& schedule)
      : launch_(launch),
        plan_(launch.plan),
        schedule_(schedule),
        input_(plan_, static_cast<const float*>(launch.arguments.input), scratch_),
        output_(plan_, launch.rows, launch.arguments, launch.frame, scratch_) {
    const std::int64_t tiles = schedule.block_pieces * plan_.largest_piece();
    values_stride_ = position_stride(tiles * plan_.tile_stride());
    sums_stride_ = position_stride(tiles * kPieceVectors * kTileLanes);
    values_ = scratch_.take_array<float>(static_cast<std::size_t>(kPositions * values_stride_));
    sums_ = scratch_.take_array<float>(static_cast<std::size_t>(kPositions * sums_stride_));
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
    input_.run(first, last, values_, values_stride_);
    for (std::int64_t tile = channels.first; tile < channels.last; ++tile) {
      for (std::int64_t position = 0; position < kPositions; ++position)
        multiply(pieces, tile, position);
      output_.run(first, last, tile, sums_, sums_stride_);
    }
  }

 private:
  void multiply(Range pieces, std::int64_t channel_tile, std::int64_t position) const {
    TileCall call;
    call.planes = call.rows = 1;
    call.channels = plan_.inputs();
    call.weights = static_cast<const float*>(launch_.arguments.weights) +
                   winograd_weight_offset(plan_, channel_tile, position);
    call.input = values_ + position * values_stride_;
    call.result = sums_ + position * sums_stride_;
    for (std::int64_t piece = pieces.first; piece < pieces.last; ++piece) {
      const Range range = plan_.piece(piece);
      const std::int64_t tiles = range.last - range.first;
      launch_.products[plan_.kernel_of(tiles, channel_tile)](&call);
      call.input += tiles * plan_.tile_stride();
      call.result += tiles * plan_.width_of(channel_tile);
    }
  }

  const Launch& launch_;
  const WinogradPlan& plan_;
  const Schedule& schedule_;
  Scratch scratch_;
  InputTransform input_;
  OutputTransform output_;
  float *values_ = nullptr, *sums_ = nullptr;
  std::int64_t values_stride_ = 0, sums_stride_ = 0;
};

class WinogradProgram final : public Program {
 public:
  WinogradProgram(const WinogradPlan& plan, const SplitChain& chain,
                  std::span<const void* const> entries)
      : plan_(plan), runner_(chain, plan.outputs(), prologue(plan, entries)) {
    const std::size_t products = plan.specs().size();
    for (std::size_t i = 0; i < products; ++i)
      products_.push_back(reinterpret_cast<TileKernel>(const_cast<void*>(entries[i])));
    rows_ = reinterpret_cast<OutputTransform::RowsKernel>(const_cast<void*>(entries[products]));
  }

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const Launch launch{plan_, products_, rows_, arguments, runner_.prepare(arguments, scratch)};
    const Schedule schedule(plan_, arguments.parallel.threads());
    arguments.parallel(schedule.parts, [&](int part) {
      Walk walk(launch, schedule);
      const Range units = split(schedule.blocks * schedule.shares, schedule.parts, part);
      for (long unit = units.first; unit < units.last; ++unit) walk.run(unit);
    });
  }

  std::size_t prepared_bytes() const override { return winograd_weight_bytes(plan_); }
  std::string weight_format() const override {
    return "winograd4x4:" + std::to_string(kPieceVectors * kTileLanes);
  }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    transform_weights(plan_, static_cast<const float*>(raw), static_cast<float*>(prepared),
                      parallel);
  }

 private:
  static const void* prologue(const WinogradPlan& plan, std::span<const void* const> entries) {
    const std::size_t before = plan.specs().size() + 1;
    return entries.size() > before ? entries[before] : nullptr;
  }

  WinogradPlan plan_;
  std::vector<TileKernel> products_;
  OutputTransform::RowsKernel rows_ = nullptr;
  ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> winograd_program(const WinogradPlan& plan, const SplitChain& chain,
                                          std::span<const void* const> entries) {
  return std::make_unique<WinogradProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
