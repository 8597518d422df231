// SPDX-License-Identifier: MIT
#pragma once

#include "base/memory.hpp"
#include "kernels/cpu/matrix/moves.hpp"
#include "kernels/cpu/matrix/pieces.hpp"
#include "kernels/cpu/matrix/schedule.hpp"
#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {

/// One thread's copies of windows, as plan.stage says, padding filled in.
class MatrixStager {
 public:
  MatrixStager(const MatrixPlan& plan, Scratch& scratch);

  /// Copies what the window's taps reach; the result is valid until the next call.
  const std::byte* stage(const void* input, const MatrixWindow& window);

 private:
  /// `next`: elements to the row that will be copied next, 0: none.
  void copy_row(const std::byte* from, const MatrixWindow& window, std::int64_t next,
                std::byte* to);
  /// A row of the window's pixels, one after another, or zeros.
  void gather_row(const std::byte* from, const MatrixWindow& window, std::byte* to);
  /// Row `row` of the window, or zeros: where rows are joined, behind those before it.
  void join_row(const std::byte* from, const MatrixWindow& window, std::int64_t row, std::byte* to);
  void clear_row(const MatrixWindow& window, std::byte* to);
  void stage_image(const std::byte* image, const MatrixWindow& window, std::byte* to);
  template <typename F>
  void for_each_row(const std::byte* image, const MatrixWindow& window, std::byte* to,
                    const F& body) const;
  void stage_lanes(const std::byte* image, const MatrixWindow& window, std::byte* to);
  /// Two channels of a row of the window, or zeros.
  void copy_lane(const std::byte* from, std::int64_t channel, const StagedAxis& columns,
                 std::byte* to);

  const MatrixPlan& plan_;
  PixelCopy copy_;            ///< to what tiles read
  LaneCopy lanes_ = nullptr;  ///< the same, by plane
  PixelCopy gather_;          ///< of elements as they are in memory
  std::byte* stage_;
  std::byte* row_ = nullptr;  ///< a row of input, before its taps are joined
};

}  // namespace fuseplan::cpu
