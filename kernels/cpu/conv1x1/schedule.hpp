// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/conv1x1/plan.hpp"
#include "kernels/cpu/parts.hpp"

namespace fuseplan::cpu {

/// A block of pixels of a window, or a part of one, with a piece of channels.
struct Conv1x1Unit {
  std::int64_t window = 0;
  std::int64_t first = 0, last = 0;  ///< pieces of pixels
  std::int64_t channels = 0;         ///< piece of channels
};

/// There are pieces of channels enough for all threads: each can be packed in passing.
bool deals_pieces(const Conv1x1Plan& plan, int threads);

/// The units of a launch, in the order they are walked, and how they are dealt out. A block's
/// pieces of channels follow one another, so that its input stays near and is staged once.
class Conv1x1Schedule {
 public:
  /// `in_passing`: blocks are whole windows, so that each piece of weights is packed once.
  Conv1x1Schedule(const Conv1x1Plan& plan, int threads, bool in_passing);

  int parts() const { return parts_; }
  /// Pieces of pixels in a block, at most.
  std::int64_t block() const { return ceil_div(plan_.pixels.pieces(), blocks_); }
  /// Weights are read once: no block follows that begins with the first piece of channels again.
  bool has_one_block() const { return plan_.windows() * blocks_ == 1; }

  /// body(unit) for all units of a part, in order. Parts are nearly equal in multiply-adds, and may
  /// begin and end at any piece of a unit's pixels.
  template <typename F>
  void for_each_unit(int part, const F& body) const {
    const auto pieces_of = [&](std::int64_t index, std::int64_t first, std::int64_t last) {
      Conv1x1Unit unit = this->unit(index);
      unit.last = unit.first + std::min(last, unit.last - unit.first);
      unit.first += first;
      body(unit);
    };
    for_each_between(start(part), start(part + 1), pieces_of);
  }

 private:
  Place start(int part) const;  ///< a unit, and pieces of its pixels
  Conv1x1Unit unit(std::int64_t index) const;
  std::int64_t units() const { return plan_.windows() * blocks_ * plan_.channels.pieces(); }

  const Conv1x1Plan& plan_;
  int parts_ = 1;
  std::int64_t blocks_ = 1;  ///< of a window
  /// Units are in one part each: something is made for all of it.
  bool whole_units_ = false;
};

}  // namespace fuseplan::cpu
