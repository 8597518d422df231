// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/strip_chain.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {

/// Transforms sums back, applies the chain to the outputs while they are in the first-level cache
/// and stores them.
class OutputTransform {
 public:
  using TileKernel = void (*)(const OutputCall*);

  /// Takes what it needs of `scratch`.
  OutputTransform(const WinogradPlan& plan, TileKernel tiles, StripChain::RowsKernel rows,
                  const Arguments& arguments, const ChainFrame& frame, Scratch& scratch);

  /// Tiles [first, last) of a tile of channels; `sums` is [position][tile][channel].
  void run(std::int64_t first, std::int64_t last, std::int64_t channel_tile, const float* sums);

  /// Of `pixels_`.
  static OutputStrides strides(const WinogradPlan& plan);

 private:
  void transform(const Segment& segment, std::int64_t channel_tile, const float* sums);
  /// What one row of a segment is in the output.
  struct Part {
    std::int64_t channels, columns;
  };
  /// Points the chain at its beginning.
  Part at(const Segment& segment, std::int64_t channel_tile, std::int64_t row);

  const WinogradPlan& plan_;
  TileKernel tiles_;
  StripChain chain_;
  float* pixels_ = nullptr;  ///< [row][column][channel] of a segment
};

}  // namespace fuseplan::cpu
