// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/direct/plan.hpp"
#include "kernels/cpu/staged_axis.hpp"

namespace fuseplan::cpu {

/// One row of a block on its way to scratch.
struct StagedRow {
  const std::byte* from = nullptr;  ///< the first channel of the group in column columns.begin
  std::byte* to = nullptr;          ///< the row's first column, inside the image or not
  StagedAxis columns;
};

/// Copies a row of bf16 so that vdpbf16ps finds its pairs: neighbouring channels, or, where the
/// plan joins taps to the channels, whatever follows within the filter's width. There columns
/// outside the image become zero.
void stage_pairs(const DirectPlan& plan, const StagedRow& row);

}  // namespace fuseplan::cpu
