// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/containers.hpp"
#include "base/parallel.hpp"
#include "expr/norm_stages.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// What stands between the two passes of a plan with batch normalisation for training: it turns the
/// batch's sums into the operands of the second pass and the results that the caller asked for.
/// Statistics are numbered along the memory of NormStages::statistics.
class NormResults {
 public:
  NormResults(const NormStages& stages, const SplitChain& chain);

  /// The moments of the groups `range`: means[i] and squares[i] (the sum of squared differences
  /// from the mean) of group range.first + i. Writes group g's mean and inverse deviation to
  /// first[g] and second[g] (batch_mean and batch_inv_deviation), and the saved and running
  /// statistics. The running variance takes the unbiased variance, squares / (M - 1); for M = 1 the
  /// biased one.
  void write_moments(const Arguments& arguments, Range range, const double* means,
                     const double* squares, float* first, float* second) const;

  /// The same for sum(d) and sum(d * xhat) of each group: gradient_mean and gradient_projection,
  /// and the gradients of bias and scale.
  void write_gradients(const Arguments& arguments, Range range, const double* sums,
                       const double* products, float* first, float* second) const;

 private:
  float* result(const Arguments& arguments, Role role) const;
  /// Where group g's value lies in a tensor of the caller's form.
  std::int64_t offset_of(std::int64_t group) const;

  NormStages stages_;
  std::vector<Role> results_;
  struct Axis {
    std::int64_t len, stride;  ///< stride in the caller's tensors
  };
  std::array<Axis, 5> axes_;  ///< of the statistics, from the outermost in memory
  bool same_order_;           ///< the caller's tensors lie like the statistics
};

/// Arguments with the program's own buffers in place of the computed operands.
class SecondPass {
 public:
  SecondPass(const Arguments& arguments, const NormStages& stages, const float* first,
             const float* second);
  SecondPass(const SecondPass&) = delete;
  SecondPass& operator=(const SecondPass&) = delete;
  const Arguments& arguments() const { return arguments_; }

 private:
  SmallVector<const void*, 16> operands_;
  Arguments arguments_;
};

}  // namespace fuseplan::cpu
