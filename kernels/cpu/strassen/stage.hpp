// SPDX-License-Identifier: MIT
#pragma once

#include "base/memory.hpp"
#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/strassen/plan.hpp"

namespace fuseplan::cpu {

/// Makes the left factors of a section that are staged, piece after piece of pixels, each as long
/// as the longest:
///   [piece][product][pixel][channel] where channels are inner,
///   [piece][product][channel][pixel] otherwise, lines of whole vectors.
/// Zeros stand for what the second halves lack.
class StrassenStage {
 public:
  /// Takes what it needs of `scratch` for blocks of up to so many pieces.
  StrassenStage(const StrassenPlan& plan, std::int64_t block, Scratch& scratch);

  /// Pieces [first, last) of an image's pixels.
  void run(const std::byte* image, std::int64_t first, std::int64_t last, std::int64_t section);

  /// Where a piece's factors begin.
  float* at(std::int64_t piece) const { return factors_ + (piece - first_) * piece_step_; }

 private:
  std::int64_t element_of(std::int64_t pixel) const;
  Operand channels_of(std::int64_t pixel, int half, float* widened) const;
  void stage_rows(std::int64_t piece);
  Operand line_of(std::int64_t channel, std::int64_t first, std::int64_t end, float* line) const;
  void ask_for_line(std::int64_t channel, std::int64_t first, std::int64_t end) const;
  std::int64_t column_step() const;
  template <typename F>
  void for_each_row(std::int64_t first, std::int64_t end, const F& body) const;
  void stage_lines(std::int64_t last);
  void combine(const Quarters& x, const LinePieces& pieces, float* to) const;

  const StrassenPlan& plan_;
  const Conv1x1Shape& shape_;
  std::int64_t bytes_;  ///< of an element
  Moves moves_;
  StrassenScheme scheme_;
  std::int64_t piece_step_ = 0;
  float *factors_ = nullptr, *zeros_ = nullptr, *lines_[4] = {};
  const std::byte* image_ = nullptr;
  std::int64_t first_ = 0;
  // Input channels of the first half that the section begins with, and how many it has.
  std::int64_t channel_ = 0, depth_ = 0;
};

}  // namespace fuseplan::cpu
