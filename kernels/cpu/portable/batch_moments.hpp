// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/memory.hpp"
#include "kernels/cpu/portable/batch_cut.hpp"

namespace fuseplan::cpu {

/// Mean and sum of squared differences from it, over the batch: blocks by two passes while they are
/// in cache, joined in double by the formula of Chan, Golub and LeVeque, in an order that does not
/// depend on the number of threads.
class BatchMoments {
 public:
  /// `statistics`: lengths 1 on the axes that are summed over; packed.
  BatchMoments(const View& data, DType dtype, const View& statistics);

  std::int64_t groups() const { return cut_.groups(); }
  /// Joins the values of `data` to moments of `count` values per group; of 0 values they may be
  /// anything.
  void join(const void* data, const Parallel& parallel, double count, double* means,
            double* squares) const;

 private:
  struct Pair {
    double* means;
    double* squares;
  };
  static Pair take_pair(Scratch& scratch, std::size_t count);
  double take(int task, const void* data, Pair partial) const;

  BatchCut cut_;
  View data_;
  DType dtype_;
};

}  // namespace fuseplan::cpu
