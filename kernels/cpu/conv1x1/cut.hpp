// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integer.hpp"

namespace fuseplan::cpu {

/// An axis cut to nearly equal pieces of rows, or of vectors of lanes: first those of `size`, then
/// those one shorter. On an axis of lanes the last vector may be partial.
class Cut {
 public:
  Cut() = default;
  /// `length` in rows or lanes, `unit` 1 or a vector's; `most` units in a piece.
  Cut(std::int64_t length, int unit, int most)
      : length_(length), unit_(unit), units_(ceil_div(length, unit)) {
    pieces_ = ceil_div(units_, most);
    size_ = (units_ + pieces_ - 1) / pieces_;
    long_ = units_ - (size_ - 1) * pieces_;
  }

  std::int64_t pieces() const { return pieces_; }
  std::int64_t length() const { return length_; }
  int size() const { return static_cast<int>(size_); }  ///< of the longest piece, in units
  /// In rows or lanes: all pieces but the last end at multiples of it.
  std::int64_t step() const { return (long_ == pieces_ ? size_ : 1) * unit_; }
  /// In rows or lanes; pieces() gives the end, rounded up to whole units.
  std::int64_t first(std::int64_t piece) const {
    return (piece * size_ - std::max<std::int64_t>(0, piece - long_)) * unit_;
  }
  /// In rows or lanes that exist.
  std::int64_t end(std::int64_t piece) const { return std::min(first(piece + 1), length_); }
  /// The piece that this row or lane lies in.
  std::int64_t piece_at(std::int64_t place) const {
    const std::int64_t unit = place / unit_, behind = unit - long_ * size_;
    return behind < 0 ? unit / size_ : long_ + behind / (size_ - 1);
  }
  /// Lanes of the last vector of the last piece.
  int tail() const { return static_cast<int>((length_ - 1) % unit_ + 1); }

  // Pieces of one kind share a kernel and follow one another.
  static constexpr int kKinds = 3;
  int kind(std::int64_t piece) const {
    if (piece + 1 == pieces_ && tail() < unit_) return 2;
    return piece < long_ ? 0 : 1;
  }
  std::int64_t kind_end(int kind) const {
    const std::int64_t whole = tail() < unit_ ? pieces_ - 1 : pieces_;
    return kind == 0 ? std::min(long_, whole) : kind == 1 ? whole : pieces_;
  }
  /// In units; 0 if there is no such piece.
  int kind_size(int kind) const {
    const std::int64_t before = kind == 0 ? 0 : kind_end(kind - 1);
    if (before == kind_end(kind)) return 0;
    return static_cast<int>(before < long_ ? size_ : size_ - 1);
  }
  int kind_tail(int kind) const { return kind == 2 ? tail() : unit_; }

 private:
  std::int64_t length_ = 0, unit_ = 1, units_ = 0, pieces_ = 0, size_ = 0, long_ = 0;
};

}  // namespace fuseplan::cpu
