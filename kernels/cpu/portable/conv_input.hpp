// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// A box of output pixels of one image and one depth: rows by columns.
struct OutputCell {
  std::int64_t image, depth;
  std::int64_t first_row, end_row, first_column, end_column;
  bool operator==(const OutputCell&) const = default;
};

/// Convolutions channel by channel: neighbouring channels are summed in neighbouring lanes.
inline bool is_lanewise(const ConvGeometry& g) { return g.group_inputs == 1 && g.groups > 1; }

/// The input as floats: f32 is read where it lies, f16 and bf16 are widened once per cell and
/// group. For lane-wise convolutions a copy holds [depth tap][row][column][kTileChannels], lane k
/// being the input channel of output channel k.
class ConvInput {
 public:
  /// No cell may need more than `copy_floats`; see copy_floats_of().
  ConvInput(const ConvGeometry& g, DType dtype, const void* data, std::int64_t copy_floats,
            Scratch& scratch);
  static std::int64_t copy_floats_of(const ConvGeometry& g, std::int64_t rows,
                                     std::int64_t columns);

  /// Makes the input of a cell readable for output channels from `channel` on.
  void select(const OutputCell& cell, std::int64_t channel);

  /// Input row `row` at the depth that tap `depth_tap` reads, from first_column() on.
  const float* row(int depth_tap, std::int64_t row) const {
    return base_ + depth_tap * plane_step_ + (row - first_row_) * row_step_;
  }
  std::int64_t first_column() const { return first_column_; }
  std::int64_t column_step() const { return column_step_; }
  std::int64_t channel_step() const { return channel_step_; }

 private:
  struct Box;  // the part of the input that a cell reads
  Box box_of(const OutputCell& cell) const;
  void point_at(const OutputCell& cell, std::int64_t first_channel);
  void widen(const OutputCell& cell, std::int64_t first_channel);
  void spread(const OutputCell& cell, std::int64_t channel);
  const void* at(std::int64_t image, std::int64_t channel, std::int64_t depth, std::int64_t row,
                 std::int64_t column) const;

  const ConvGeometry& g_;
  DType dtype_;
  const void* data_;
  float* copy_ = nullptr;
  OutputCell held_cell_{-1, 0, 0, 0, 0, 0};  // what the copy holds
  std::int64_t held_channel_ = -1;
  const float* base_ = nullptr;
  std::int64_t first_row_ = 0, first_column_ = 0;
  std::int64_t plane_step_ = 0, row_step_ = 0, column_step_ = 0, channel_step_ = 0;
};

}  // namespace fuseplan::cpu
