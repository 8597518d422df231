// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/direct/block.hpp"

namespace fuseplan::cpu {

/// What the tile kernels' calls for a block ask for ahead: the input that the next block reads and
/// this one does not. That is behind it: rows, each asked for by the row of outputs that is as far
/// from the next block's; or columns of the last row that a single row reads.
class Ahead {
 public:
  Ahead() = default;
  /// For one of `units` that follow one another over the block, number `unit`, and its part.
  Ahead(const DirectPlan& plan, const InputMap& input, const Block& block, std::int64_t unit,
        std::int64_t units);

  /// Before the calls for a row of the block's outputs.
  void start(std::int64_t row, std::int64_t chunk) {
    at_ = first_ + row * row_step_ + chunk * per_chunk_;
  }
  /// The next call's part.
  void share(TileCall& call) {
    call.ahead = at_;
    call.ahead_step = step_;
    at_ += per_call_;
  }

 private:
  std::int64_t first_ = 0, row_step_ = 0, per_chunk_ = 0, per_call_ = 0, step_ = 0;
  std::int64_t at_ = 0;
};

}  // namespace fuseplan::cpu
