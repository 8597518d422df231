// SPDX-License-Identifier: MIT
#pragma once

#include "base/memory.hpp"
#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/stem/plan.hpp"

namespace fuseplan::cpu {

/// Copies what the tiles of a segment read to scratch as f32, [row][column][channel], where
/// channels are those of all phases: the column's phases of a row, and then the next row's. Zeros
/// stand for padding and behind the last channel.
class StemStage {
 public:
  /// Takes what it needs of `scratch`.
  StemStage(const StemPlan& plan, const void* input, Scratch& scratch);

  void run(const StemSegment& segment);
  const float* values() const { return staged_; }

  /// Runs of `length` values, one of each row, as those of `columns` columns that follow one
  /// another. Zeros stand for what is not in [begin, end) of a run, and for rows that are none.
  struct Runs {
    const float* const* rows;  ///< at the first column's run
    std::int64_t count, length, begin, end, columns;
  };
  /// Writes a column's runs one behind the other, `width` values in all.
  using JoinRuns = void (*)(const Runs& runs, float* to, std::int64_t width);

 private:
  /// Neighbouring columns of a row, in phases.
  struct Columns {
    std::int64_t first, count;
  };
  void stage_pixels(std::int64_t image, std::int64_t row, const Columns& columns, float* to);
  void stage_lines(std::int64_t image, std::int64_t row, const Columns& columns, float* to);
  const std::byte* row_of(std::int64_t image, std::int64_t row) const;

  const StemPlan& plan_;
  const View& view_;
  const std::byte* input_;
  std::int64_t bytes_;  ///< of an element
  Moves moves_;
  JoinRuns join_runs_;
  bool by_pixel_;  ///< pixels of a row follow one another with all their channels
  float* staged_;
  float* lines_ = nullptr;  ///< [channel][column] of a row
};

}  // namespace fuseplan::cpu
