// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/direct/block.hpp"

namespace fuseplan::cpu {

/// A line that the kernel reads anyway: there is no call that does not ask.
inline void ask_for_nothing(TileCall& call) {
  call.ahead = reinterpret_cast<std::int64_t>(&call);
  call.ahead_step = 0;
}

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
    due_ = asked_ = 0;
  }
  /// The next call's part, if it has one. The other calls ask for what is near already: asking for
  /// a line of the second-level cache over and over takes as long as reading it.
  void share(TileCall& call) {
    due_ += per_call_;
    if (asked_ >= due_) return ask_for_nothing(call);
    call.ahead = at_ + asked_;
    call.ahead_step = step_;
    asked_ += per_asking_;
  }

 private:
  std::int64_t first_ = 0, row_step_ = 0;
  std::int64_t per_chunk_ = 0;              ///< bytes, of all calls for a row and chunk
  std::int64_t per_call_ = 0;               ///< on average
  std::int64_t per_asking_ = 0, step_ = 0;  ///< of a call that asks
  std::int64_t at_ = 0, due_ = 0, asked_ = 0;
};

/// What the calls for one part of the weights ask for: the part after it, each its share. Only the
/// first call waits for weights; were nothing asked for during the others, a far cache would rest.
class NextWeights {
 public:
  NextWeights() = default;
  NextWeights(const float* weights, std::int64_t bytes);

  /// `call` is complete but for what it asks for.
  void share(const TileSpec& spec, TileCall& call);

 private:
  std::int64_t at_ = 0, end_ = 0;
};

/// TileSpec::asks_ahead with which `calls` together ask for as many weights as each reads.
int asks_for_weights(const TileSpec& spec, std::int64_t calls);

}  // namespace fuseplan::cpu
