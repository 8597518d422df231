// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/chain_tensors.hpp"

namespace fuseplan::cpu {

/// Everything about a depthwise convolution with columns in lanes that is decided before code is
/// emitted.
struct DepthwisePlan {
  DepthwisePlan(const Problem& problem, const SplitChain& chain, Isa isa);

  Isa isa;
  ConvGeometry g;
  DType input, output, weights;
  std::string weights_text;  ///< of the raw weight tensor
  std::int64_t multiplier;   ///< output channels per input channel
  std::vector<ElementView> elements;
  RowsSpec rows;  ///< the kernel that applies the chain to the sums

  int tile_vectors = 0;          ///< vectors of columns per tile
  std::vector<int> tile_rows;    ///< output rows per tile, descending to 1
  bool staged = false;           ///< input rows are copied to f32, zero padded, phase by phase
  std::int64_t phase_pitch = 0;  ///< floats of one phase of a staged row
  std::int64_t left = 0;         ///< floats of a phase before column 0
  std::int64_t band_rows = 0;    ///< most output rows of a channel at a time
  std::int64_t group = 1;        ///< channels at a time
  std::int64_t sums_pitch = 0;   ///< floats of one channel's sums
  std::int64_t staged_rows = 0;  ///< most input rows of a band
  bool joined_rows = false;      ///< output and elements continue from row to row

  int lanes() const { return lanes_of(isa); }
  /// Rows of sums are rows of the image, or the channels if rows of an image are one.
  ChainTensors tensors() const {
    return {g.output, output, elements, 4, joined_rows ? std::size_t{1} : std::size_t{3}};
  }
  /// Bytes from what DepthwiseTaps::x points at to what output column 0 reads
  /// through tap column `tap`, and from one input row to the next.
  std::int64_t tap_offset(std::int64_t tap) const;
  std::int64_t row_bytes() const;
  std::int64_t stage_row_floats() const { return g.stride[2] * phase_pitch; }
  std::int64_t stage_channel_floats() const {
    return staged ? g.filter[0] * staged_rows * stage_row_floats() : 0;
  }

 private:
  void plan_columns();
};

}  // namespace fuseplan::cpu
