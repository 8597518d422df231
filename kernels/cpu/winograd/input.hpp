// SPDX-License-Identifier: MIT
#pragma once

#include "base/memory.hpp"
#include "kernels/cpu/direct/moves.hpp"
#include "kernels/cpu/winograd/plan.hpp"

namespace fuseplan::cpu {

/// Transforms the input of runs of tiles to [position][tile][channel].
class InputTransform {
 public:
  /// `input`: the plan's tensor. Takes what it needs of `scratch`.
  InputTransform(const WinogradPlan& plan, const float* input, Scratch& scratch);

  /// Tiles [first, last) to `output`, positions `stride` floats apart.
  void run(std::int64_t first, std::int64_t last, float* output, std::int64_t stride) const;

 private:
  void run_segment(const Segment& segment, float* output, std::int64_t stride) const;
  void run_staged(const Segment& segment, float* output, std::int64_t stride) const;
  void stage_channels(const Segment& segment, std::int64_t channel) const;
  void stage_row(const float* row, std::int64_t channels, std::int64_t column, std::int64_t columns,
                 float* staged) const;

  const WinogradPlan& plan_;
  const View& view_;
  const float* input_;
  Moves moves_;
  float* stage_ = nullptr;  ///< [row][column][channel] of a segment, for 16 channels
  float* corner_ = nullptr;
};

}  // namespace fuseplan::cpu
