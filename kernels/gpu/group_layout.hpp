// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "expr/norm_stages.hpp"
#include "kernels/gpu/arguments.hpp"

namespace fuseplan::gpu {

/// The axes of a launch that sums over groups of elements, as fp_groups.h reads them: innermost
/// first, as few and as long as the strides of all tensors allow.
struct GroupLayout {
  /// Tensors: input, output, elements; then, for groups, the statistics and the channel number.
  static constexpr std::size_t kInput = 0, kOutput = 1, kElements = 2;
  struct Axis {
    std::int64_t len = 1;
    std::vector<std::int64_t> stride;
  };

  GroupLayout(const Problem& problem, const SplitChain& chain, const NormStages& stages);

  std::int64_t group_count() const;
  std::int64_t member_count() const;
  /// Whether pieces of `wide` elements start at multiples of it in every tensor that has lanes.
  bool divides() const;
  std::size_t statistics() const { return dtypes.size(); }
  /// The innermost of all axes.
  const Axis& lanes() const { return along ? groups.front() : members.front(); }
  /// Lengths as divisors and strides of the tensors in front of `tensors`, in units of `lanes`
  /// elements along the innermost axis.
  void put_strides(const std::vector<Axis>& axes, std::size_t tensors, std::int64_t lanes,
                   ArgumentBlock& block) const;
  void put_lengths(const std::vector<Axis>& axes, std::int64_t lanes, ArgumentBlock& block) const;

  std::vector<Axis> groups, members;
  std::vector<DType> dtypes;   ///< of input, output, elements
  std::vector<bool> adjacent;  ///< which of them have neighbours along the innermost axis
  bool along = false;          ///< which is an axis of groups
  int wide = 1;
};

}  // namespace fuseplan::gpu
