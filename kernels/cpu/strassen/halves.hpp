// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/conv1x1/cut.hpp"

namespace fuseplan::cpu {

/// An axis of the output in two halves, cut into pieces that are a part of either. Rows: a piece's
/// halves follow one another; of the last, the second may lack its last row. Lanes: the halves are
/// those of the axis, and both parts end alike.
class Halves {
 public:
  Halves() = default;
  /// Pieces of up to `most` rows of either half.
  static Halves of_rows(std::int64_t length, int most) { return {Cut(length, 2, most), length, 0}; }
  /// Of up to `most` vectors of so many lanes; the length is even.
  static Halves of_lanes(std::int64_t length, int lanes, int most) {
    return {Cut(length / 2, lanes, most), length, length / 2};
  }

  std::int64_t pieces() const { return cut_.pieces(); }
  /// Where a piece's first half begins, and how far from there its second does.
  std::int64_t first(std::int64_t piece) const { return cut_.first(piece); }
  std::int64_t distance(std::int64_t piece) const { return split_ > 0 ? split_ : width(piece); }
  /// Rows of either half of a piece; lanes, rounded up to vectors.
  std::int64_t width(std::int64_t piece) const {
    return (cut_.first(piece + 1) - cut_.first(piece)) / (split_ > 0 ? 1 : 2);
  }
  std::int64_t most_width() const { return width(0); }
  /// All pieces of lanes but the last end at multiples of it.
  std::int64_t step() const { return cut_.step(); }
  /// Of half 0 or 1: rows or lanes that exist.
  std::int64_t count(std::int64_t piece, int half) const {
    if (split_ > 0) return cut_.end(piece) - cut_.first(piece);
    const std::int64_t begin = first(piece) + half * width(piece);
    return std::min(width(piece), length_ - begin);
  }

  // Pieces of one kind share a kernel and follow one another.
  static constexpr int kKinds = Cut::kKinds;
  int kind(std::int64_t piece) const { return cut_.kind(piece); }
  std::int64_t kind_end(int kind) const { return cut_.kind_end(kind); }
  /// Rows or vectors of a half; 0 if there is no such piece.
  int kind_size(int kind) const { return cut_.kind_size(kind); }
  /// Of lanes: those of the last vector. Of rows: 1 if the last is missing, otherwise 2.
  int kind_tail(int kind) const { return cut_.kind_tail(kind); }

 private:
  Halves(const Cut& cut, std::int64_t length, std::int64_t split)
      : cut_(cut), length_(length), split_(split) {}

  Cut cut_;
  std::int64_t length_ = 0;
  std::int64_t split_ = 0;  ///< where the second half begins; 0: behind the first, in each piece
};

}  // namespace fuseplan::cpu
