// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/norm/cell_walk.hpp"
#include "kernels/cpu/program.hpp"

namespace fuseplan::cpu {

/// Moments of each channel of a tensor that a kernel has just written.
class OutputMoments {
 public:
  virtual ~OutputMoments() = default;
  /// Joins the tensor's values to moments of `count` values per channel; of 0 values they may be
  /// anything. The same for any number of threads.
  virtual void join(const void* data, const Parallel& parallel, std::int64_t count, double* means,
                    double* squares) const = 0;
};

/// How to take them: by the sums kernel of batch normalisation where vectors can walk the tensor,
/// else by the portable loops.
class MomentsRecipe {
 public:
  /// `statistics`: NormStages::statistics.
  MomentsRecipe(const Tensor& data, const Tensor& statistics, Isa isa);
  std::size_t functions() const { return cells_ ? 1 : 0; }
  std::vector<Function> emit() const;
  std::unique_ptr<OutputMoments> bind(std::span<const void* const> entries) const;

 private:
  Tensor data_, statistics_;
  Isa isa_;
  std::optional<CellWalk> cells_;
};

}  // namespace fuseplan::cpu
