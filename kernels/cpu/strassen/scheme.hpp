// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

// Strassen's algorithm in Winograd's form, which takes 7 products of halves instead of 8: for input
// x = [x11 x12; x21 x22], halves of pixels by halves of input channels, and weights w = [w11 w12;
// w21 w22], halves of input channels by halves of output channels,
//
//   s1 = x21 + x22   s2 = s1 - x11   s3 = x11 - x21   s4 = x12 - s2
//   t1 = w12 - w11   t2 = w22 - t1   t3 = w22 - w12   t4 = t2 - w21
//   p0 = x11 w11     p1 = x12 w21    p2 = s2 t2       p3 = s3 t3      p4 = x22 (-t4)
//   p5 = s1 t1       p6 = s4 w22
//   y11 = p0 + p1    y21 = p0 + p2 + p3 + p4    y12 = p0 + p2 + p5 + p6
//   y22 = p0 + p2 + p3 + p5
//
// (Winograd, "On multiplication of 2 x 2 matrices", Linear Algebra and its Applications 4, 1971.)
inline constexpr int kStrassenProducts = 7;
/// Products whose left factor is a sum (s2, s3, s1, s4); those of the others are the input itself.
inline constexpr int kStrassenSums = 4;

/// Values of which there are `count`; zeros follow.
struct Operand {
  const float* values = nullptr;
  std::int64_t count = 0;
  Operand from(std::int64_t place) const {
    return {values + place, std::max<std::int64_t>(0, count - place)};
  }
};
/// x11, x12, x21, x22.
struct Quarters {
  Operand q11, q12, q21, q22;
};
/// Pieces of lines, `pitch` values apart and `width` long; their factors are `piece_step` apart,
/// and a product's `step` behind those of the product before.
struct LinePieces {
  std::int64_t pieces = 1, width = 0, pitch = 0, piece_step = 0, step = 0;
};
/// Rows of weights, `row` values from one to the next, each of `width` that are made to whole
/// vectors behind. Their right factors are rows of `width`, each behind the other.
struct WeightRows {
  const float *w11, *w12, *w21, *w22;
  std::int64_t rows, row, width;
};

/// Makes factors in vectors of an instruction set. What stands behind the width of a piece or of a
/// product's last row, up to a whole vector, is undefined afterwards.
class StrassenScheme {
 public:
  explicit StrassenScheme(Isa isa);

  /// to[m * step + i] = the left factor of product m at i.
  void combine_inputs(const Quarters& x, const LinePieces& pieces, float* to) const;
  /// The same of those products only whose left factor is a sum.
  void combine_input_sums(const Quarters& x, const LinePieces& pieces, float* to) const;
  /// to[m * step + i] = the right factors of product m.
  void combine_weights(const WeightRows& weights, float* to, std::int64_t step) const;

 private:
  /// Pieces of whole vectors, `vectors` values long.
  struct Run {
    const float *q11, *q12, *q21, *q22;
    std::int64_t pieces, vectors, pitch, piece_step, step;
  };
  using Combine = void (*)(const Run& run, float* to);
  struct Code;

  void combine(Combine combine, const Quarters& x, const LinePieces& pieces, float* to) const;
  void combine_rest(Combine combine, const Quarters& x, std::int64_t width, float* to,
                    std::int64_t step) const;

  int lanes_;
  Combine inputs_ = nullptr, input_sums_ = nullptr, weights_ = nullptr;
};

}  // namespace fuseplan::cpu
