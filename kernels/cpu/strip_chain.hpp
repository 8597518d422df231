// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "base/memory.hpp"
#include "kernels/cpu/chain_walk.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {

/// Applies a chain to strips of sums that wait in memory, and stores them: one thread's scratch and
/// its walk. `finish` works where the walk points.
class StripChain : public ChainWalk {
 public:
  using RowsKernel = void (*)(const RowsCall*);

  StripChain(const ChainTensors& tensors, RowsKernel rows, const Arguments& arguments,
             const ChainFrame& frame, Scratch& scratch)
      : ChainWalk(tensors, arguments, frame, scratch),
        rows_(rows),
        elements_(tensors.elements),
        output_bytes_(static_cast<std::int64_t>(size_of(tensors.dtype))),
        by_pixel_(tensors.lane_axis == 1) {}

  /// Sums by pixel will be finished, up to so many; where rows of the output are channels they are
  /// turned first.
  void expect_pixels(std::int64_t pixels, std::int64_t channels, Isa isa, Scratch& scratch);

  /// While sums are made: asks for the lines that pixels [first, end) from where the walk points
  /// will be stored to, if rows of the output are channels. Those lie in pages of their own, which
  /// no hardware fetches ahead.
  void expect_stores(std::int64_t channels, std::int64_t first, std::int64_t end);
  /// The same for what the chain will read at so many pixels.
  void expect_elements(std::int64_t channels, std::int64_t pixels);
  /// Sums [pixel][channel], `step` floats from one pixel to the next. Behind the last pixel and
  /// channel may lie what makes whole squares for Moves::turn.
  void finish_pixels(const float* sums, std::int64_t step, std::int64_t pixels,
                     std::int64_t channels);
  /// Sums that lie as the output's rows do, `step` floats from one to the next.
  void finish_rows(const float* sums, std::int64_t step, std::int64_t rows, std::int64_t lanes);

 private:
  RowsKernel rows_;
  std::span<const ElementView> elements_;
  std::int64_t output_bytes_;  ///< of an element
  bool by_pixel_;
  Moves moves_{};
  float* turned_ = nullptr;
  std::int64_t turned_step_ = 0;
};

}  // namespace fuseplan::cpu
