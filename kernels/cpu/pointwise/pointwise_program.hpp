// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/chain_runner.hpp"
#include "kernels/cpu/pointwise/config.hpp"
#include "kernels/cpu/pointwise/walk_call.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// A launch of rows kernels over a walk.
class PointwiseProgram final : public Program {
 public:
  using Rows = void (*)(const RowsCall*);
  /// `streaming` may be null; it is used where the output is another buffer than the input.
  PointwiseProgram(Walk walk, const SplitChain& chain, const PointwiseConfig& config, Rows rows,
                   Rows streaming, const void* prologue);
  void run(const Arguments& arguments) const override;

 private:
  /// A launch's rows, or parts of rows where there are few, numbered.
  struct Launch {
    WalkPlace place;
    int parts = 1;  ///< pieces that each row is cut into
    Rows rows;
  };
  void run_units(const Launch& launch, Range units) const;
  void run_block(const Launch& launch, const WalkBlock& block) const;
  void repeat_channels(Launch& launch, Scratch& scratch) const;
  int task_count(int threads) const;

  Walk walk_;
  ChainRunner runner_;
  Rows rows_, streaming_;
  std::size_t channel_roots_;
  std::int64_t fold_;   ///< rows that are joined to one, with channel values repeated; or 0
  std::int64_t piece_;  ///< lanes at a time; less than a row where a tensor's are not contiguous
  std::int64_t work_;   ///< of a launch: bytes moved, and arithmetic in terms of them
};

}  // namespace fuseplan::cpu
