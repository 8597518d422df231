// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "base/containers.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {

/// Transforms the input of runs of tiles to [position][tile][channel].
class InputTransform {
 public:
  using Kernel = void (*)(const InputCall*);

  /// `input`: the plan's tensor. Takes what it needs of `scratch`.
  InputTransform(const WinogradPlan& plan, Kernel kernel, const void* input, Scratch& scratch);

  /// Tiles [first, last) to `output`.
  void run(std::int64_t first, std::int64_t last, float* output);

 private:
  struct Inside {
    std::int64_t first, last;  ///< of the indices that lie inside the image
    bool holds(std::int64_t i) const { return first <= i && i < last; }
    bool all(std::int64_t count) const { return first == 0 && last == count; }
  };
  static Inside inside(std::int64_t first, std::int64_t step, std::int64_t count,
                       std::int64_t length);

  void run_in_place(const Segment& segment, float* output);
  void run_staged(const Segment& segment, float* output);
  void stage_channels(const Segment& segment, std::int64_t channel);
  void stage_row(const std::byte* row, std::int64_t channels, std::int64_t columns, float* staged);
  /// Whether a square of channels x columns that starts there lies within the tensor.
  bool may_read_square(const std::byte* row, std::int64_t columns) const;
  void copy_row(const std::byte* row, std::int64_t channels, std::int64_t columns, float* staged);

  const WinogradPlan& plan_;
  const View& view_;
  Kernel kernel_;
  const std::byte* input_;
  std::int64_t size_;  ///< of an element
  Moves moves_;
  /// Inputs of a tile that lies inside, relative to its first; of one at the border.
  SmallVector<const void*, kMostPositions> points_, border_;
  std::byte* zeros_ = nullptr;
  float* stage_ = nullptr;  ///< [row][column][channel] of a segment, for a vector of channels
  float* lines_ = nullptr;  ///< [channel][column] of one of its rows
};

}  // namespace fuseplan::cpu
