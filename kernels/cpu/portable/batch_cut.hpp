// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/parallel.hpp"
#include "kernels/cpu/portable/finisher.hpp"

namespace fuseplan::cpu {

/// Cuts a tensor into blocks for sums over its batch. The axes of the statistics are kept, the
/// others are summed over. A task is one block of statistics and one chunk of what is summed; both
/// follow from the tensor alone, so sums do not depend on the number of threads.
class BatchCut {
 public:
  /// `statistics`: lengths 1 on the axes that are summed over; packed.
  BatchCut(const View& data, const View& statistics);

  std::int64_t groups() const { return groups_; }
  int chunks() const { return chunks_; }
  int tasks() const { return static_cast<int>(kept_blocks_ * chunks_); }
  int chunk_of(int task) const { return static_cast<int>(task / kept_blocks_); }

  /// Calls block(place) for all blocks of a task, in order. All have the same slots.
  template <typename F>
  void for_each_block(int task, const F& block) const {
    const Range range = split(summed_blocks_, chunks_, chunk_of(task));
    for (std::int64_t summed = range.first; summed < range.last; ++summed)
      block(place_of(task % kept_blocks_, summed));
  }

  /// The statistics of a block, ChainInterpreter's kBlock at most. The value at (row, lane) counts
  /// for slot row * row + lane * lane.
  struct Slots {
    int count, row, lane;
    int values(const BlockShape& shape) const { return shape.rows * shape.lanes / count; }
  };
  Slots slots_of(const BlockPlace& place) const;
  int slot_count(int task) const { return slots_of(place_of(task % kept_blocks_, 0)).count; }
  /// Number, along the memory of the statistics, of a task's slot.
  std::int64_t group_of(int task, int slot) const;

 private:
  BlockPlace place_of(std::int64_t kept, std::int64_t summed) const;
  bool keeps(std::size_t axis) const { return statistics_.len[axis] > 1; }

  View data_, statistics_;
  std::array<std::size_t, 5> order_;             // axes, from the widest step to the narrowest
  std::array<std::int64_t, 5> extent_, blocks_;  // by axis
  std::int64_t kept_blocks_ = 1, summed_blocks_ = 1, groups_ = 1;
  int chunks_ = 1;
};

}  // namespace fuseplan::cpu
