// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/integer.hpp"
#include "kernels/cpu/chain_tensors.hpp"
#include "kernels/cpu/grouped/config.hpp"

namespace fuseplan::cpu {

/// What a grouped convolution is, before any choice: tensors, and which axis lies in lanes.
struct GroupedShape {
  GroupedShape(const Problem& problem, const SplitChain& chain, const Target& target);

  Isa isa;
  ConvGeometry g;
  DType input, output;
  Tensor weights;  ///< as the caller has them
  // What other kernels have for one group.
  bool has_tiles = false;      ///< AMX
  bool has_fast_bf16 = false;  ///< Extensions::fast_bf16
  std::vector<ElementView> elements;
  bool fits = false;  ///< one of the axes below can be lanes
  bool lanes_are_channels = false;
  FinishSpec finish;

  // Outputs are computed in blocks of `step` channels of whole groups, or of one group: a vector of
  // them, or a few that share the input vectors if columns are lanes.
  int step = 1;
  bool permuted = false;  ///< channels in lanes: lanes do not read the input channel they stand in

  int lanes() const { return lanes_of(isa); }
  int lane_axis() const { return lanes_are_channels ? 1 : 4; }
  ChainTensors tensors() const {
    return {g.output, output, elements, static_cast<std::size_t>(lane_axis()), 3};
  }
  std::int64_t blocks() const { return ceil_div(g.output.len[1], step); }
  std::int64_t first_input(std::int64_t block) const {
    return block * step / g.group_outputs * g.group_inputs;
  }
  std::int64_t taps() const { return g.filter[1] * g.filter[2]; }

  // Packed weights, in bytes: a header for each block, then [depth][input of the group] planes, in
  // which a permutation may stand before [row][column][output of the block].
  static constexpr int kHeaderBytes = 64;  ///< int64 offset of the input, uint64 lanes to load
  int tap_bytes() const { return 4 * (lanes_are_channels ? lanes() : step); }
  int permutation_bytes() const { return permuted ? 4 * lanes() : 0; }
  std::int64_t plane_bytes() const { return permutation_bytes() + taps() * tap_bytes(); }
  std::int64_t depth_bytes() const { return g.group_inputs * plane_bytes(); }
  std::int64_t block_bytes() const;

  /// Of a channel's output at one depth, if it is dense.
  std::int64_t output_plane_bytes() const {
    return g.output.len[3] * g.output.len[4] * static_cast<std::int64_t>(size_of(output));
  }
  /// Of input and output.
  std::int64_t touched_bytes() const {
    return g.input.elements() * static_cast<std::int64_t>(size_of(input)) +
           g.output.elements() * static_cast<std::int64_t>(size_of(output));
  }

  std::int64_t input_bytes(int axis) const {
    return g.input.stride[static_cast<std::size_t>(axis)] *
           static_cast<std::int64_t>(size_of(input));
  }

 private:
  void plan_blocks();
};

/// Why no kernel of this family can run it.
std::optional<std::string> refusal_of(const GroupedShape& shape);

/// Columns in lanes: whether large output goes through scratch (DrainedOutput), some planes at a
/// time, as their rows begin anywhere in a line.
bool drains_planes(const GroupedShape& shape);

struct GroupedPlan : GroupedShape {
  GroupedPlan(const GroupedShape& shape, const GroupedConfig& config)
      : GroupedShape(shape), config(config) {}

  GroupedConfig config;

  int tile_columns() const { return config.columns * (lanes_are_channels ? 1 : lanes()); }
  int rest_rows() const { return static_cast<int>(g.output.len[3] % config.rows); }
};

}  // namespace fuseplan::cpu
