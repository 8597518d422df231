// SPDX-License-Identifier: MIT
#pragma once

#include "base/containers.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/direct/moves.hpp"
#include "kernels/cpu/program.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {

/// Transforms sums back, applies the chain to the outputs while they are in the first-level cache
/// and stores them.
class OutputTransform {
 public:
  using TileKernel = void (*)(const OutputCall*);
  using RowsKernel = void (*)(const RowsCall*);

  /// Takes what it needs of `scratch`.
  OutputTransform(const WinogradPlan& plan, TileKernel tiles, RowsKernel rows,
                  const Arguments& arguments, const ChainFrame& frame, Scratch& scratch);

  /// Tiles [first, last) of a tile of channels; `sums` is [position][tile][channel].
  void run(std::int64_t first, std::int64_t last, std::int64_t channel_tile, const float* sums);

  /// Of `pixels_`.
  static OutputStrides strides(const WinogradPlan& plan);

 private:
  void finish(const Segment& segment, std::int64_t channel_tile, std::int64_t row);

  const WinogradPlan& plan_;
  TileKernel tiles_;
  RowsKernel rows_;
  const Arguments& arguments_;
  Moves moves_;
  RowsCall call_;            ///< what is the same for all calls is set once
  float* pixels_ = nullptr;  ///< [row][column][channel] of a segment
  float* turned_ = nullptr;  ///< [channel][column] of one of its rows
  SmallVector<const void*, 4> elements_;
  SmallVector<std::int64_t, 4> element_steps_;
};

}  // namespace fuseplan::cpu
