// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/program.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/chain_walk.hpp"
#include "kernels/cpu/drained_output.hpp"
#include "kernels/cpu/grouped/call.hpp"
#include "kernels/cpu/grouped/pack.hpp"
#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

/// How the output is divided: images, planes, bands of whole row tiles, chunks of blocks.
struct Division {
  Division(const GroupedPlan& plan, int threads) {
    const ConvGeometry& g = plan.g;
    parts = parts_worth(g, plan.lanes_are_channels ? 5e5 : 2.5e5, threads);
    planes = g.output.len[0] * g.output.len[2];
    const std::int64_t wanted = parts == 1 ? 1 : kUnitsPerPart * parts;
    // Channels in lanes: all blocks of a tile are computed before the next tile, so bands rather
    // than blocks are what threads share.
    const std::int64_t row_tiles = ceil_div(g.output.len[3], plan.config.rows);
    const std::int64_t band = plan.lanes_are_channels ? row_tiles / ceil_div(wanted, planes)
                                                      : near_rows(plan) / plan.config.rows;
    const bool drains = plan.finish.drains;
    band_tiles = drains ? row_tiles : std::clamp<std::int64_t>(band, 1, row_tiles);
    bands = ceil_div(row_tiles, band_tiles);
    const std::int64_t blocks = plan.blocks();
    chunk_blocks = ceil_div(blocks, std::min(ceil_div(wanted, planes * bands), blocks));
    if (drains) chunk_blocks = std::min(chunk_blocks, drained_blocks(plan));
    chunks = ceil_div(blocks, chunk_blocks);
    parts = static_cast<int>(std::min<std::int64_t>(parts, units()));
  }
  /// Columns in lanes: the input rows of a band are read once per block of channels, and should
  /// stay near.
  static std::int64_t near_rows(const GroupedPlan& plan) {
    constexpr std::int64_t kBandBytes = 256 << 10;
    const ConvGeometry& g = plan.g;
    return kBandBytes /
           std::max<std::int64_t>(1, g.stride[1] * g.input.len[4] * g.group_inputs *
                                         static_cast<std::int64_t>(size_of(plan.input)));
  }
  /// Two of them in scratch leave the first-level cache to the input.
  static std::int64_t drained_blocks(const GroupedPlan& plan) {
    constexpr std::int64_t kRegionBytes = 16 << 10;
    return std::max<std::int64_t>(1, kRegionBytes / (plan.step * plan.output_plane_bytes()));
  }
  std::int64_t units() const { return planes * bands * chunks; }

  int parts;
  std::int64_t band_tiles, bands, chunk_blocks, chunks, planes;
};

class GroupedProgram final : public Program {
 public:
  GroupedProgram(const GroupedPlan& plan, const SplitChain& chain,
                 std::span<const void* const> entries)
      : plan_(plan),
        kernel_(kernel_at<Kernel>(entries[0])),
        runner_(chain, plan.g.output.len[1], entries.size() > 1 ? entries[1] : nullptr) {}

  void run(const Arguments& arguments) const override {
    Scratch scratch;
    const ChainFrame frame = runner_.prepare(arguments, scratch);
    const Division division(plan_, arguments.parallel.threads());
    arguments.parallel(division.parts, [&](int part) {
      Scratch local;
      ChainWalk chain(plan_.tensors(), arguments, frame, local);
      const bool drains = plan_.finish.drains;
      const std::int64_t channel_bytes = drains ? plan_.output_plane_bytes() : 0;
      DrainedOutput drained(division.chunk_blocks * plan_.step * channel_bytes, local);
      const Range range = split(division.units(), division.parts, part);
      for (long unit = range.first; unit < range.last; ++unit) {
        GroupedCall call;
        const Index index = place(division, unit, call);
        point(arguments, index, call);
        call.chain = &chain.at(index);
        if (drains) {
          drained.begin(call.chain->output, call.outputs * channel_bytes);
          drained.redirect(*call.chain);
        }
        kernel_(&call);
      }
      drained.flush();
      fence_streams();
    });
  }

  std::size_t prepared_bytes() const override { return packed_group_weight_bytes(plan_); }
  std::string weight_format() const override { return packed_group_weight_format(plan_); }
  void prepare(const void* raw, void* prepared, const Parallel&) const override {
    pack_group_weights(plan_, raw, prepared);
  }

 private:
  using Kernel = void (*)(const GroupedCall*);
  using Index = ChainWalk::Index;  // of the first output

  /// The unit's first output; what the call computes from there on.
  Index place(const Division& division, std::int64_t unit, GroupedCall& call) const {
    const ConvGeometry& g = plan_.g;
    const std::int64_t chunk = unit % division.chunks;
    const std::int64_t band = unit / division.chunks % division.bands;
    const std::int64_t plane = unit / division.chunks / division.bands;
    const std::int64_t channel = chunk * division.chunk_blocks * plan_.step;
    const std::int64_t row = band * division.band_tiles * plan_.config.rows;
    call.outputs = std::min(division.chunk_blocks * plan_.step, g.output.len[1] - channel);
    call.rows = std::min(division.band_tiles * plan_.config.rows, g.output.len[3] - row);
    call.input_row = row * g.stride[1] - g.pad_lo[1];
    return {plane / g.output.len[2], channel, plane % g.output.len[2], row, 0};
  }

  void point(const Arguments& arguments, const Index& index, GroupedCall& call) const {
    const ConvGeometry& g = plan_.g;
    const TapSpan depths = taps_inside(g, 0, index[2]);
    call.depths = depths.count();
    call.depth_offset = depths.first * plan_.depth_bytes();
    // In the padding the pointer may lie outside the tensor; the kernel does not follow it there.
    const std::int64_t depth = index[2] * g.stride[0] - g.pad_lo[0] + depths.first * g.dilation[0];
    call.input = static_cast<const std::byte*>(arguments.input) + index[0] * plan_.input_bytes(0) +
                 depth * plan_.input_bytes(2) + call.input_row * plan_.input_bytes(3) -
                 g.pad_lo[2] * plan_.input_bytes(4);
    call.weights = static_cast<const std::byte*>(arguments.weights) +
                   index[1] / plan_.step * plan_.block_bytes();
  }

  const GroupedPlan plan_;
  const Kernel kernel_;
  const ChainRunner runner_;
};

}  // namespace

std::unique_ptr<Program> grouped_program(const GroupedPlan& plan, const SplitChain& chain,
                                         std::span<const void* const> entries) {
  return std::make_unique<GroupedProgram>(plan, chain, entries);
}

}  // namespace fuseplan::cpu
