// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "base/memory.hpp"
#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/pointwise/walk.hpp"

namespace fuseplan::cpu {

/// What the kernels of a launch work on.
struct WalkPlace {
  const void* input = nullptr;
  void* output = nullptr;
  std::span<const void* const> elements = {};  ///< raw
  std::size_t first_element = 0;               ///< number of the first of them among the walk's
  ChainFrame frame = {};
  std::int64_t fold = 1;  ///< rows per kernel row
};

/// Rows that follow one another along the rows axis, and the lanes of each.
struct WalkBlock {
  std::int64_t row, rows, lane, lanes;
};

/// The call that visits the block. What it points to lies in `scratch`.
RowsCall call_of(const Walk& walk, const WalkPlace& place, const WalkBlock& block,
                 Scratch& scratch);

}  // namespace fuseplan::cpu
