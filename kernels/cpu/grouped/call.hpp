// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/cpu/chain_frame.hpp"

namespace fuseplan::cpu {

/// What a grouped kernel reads: some blocks of output channels of some neighbouring output rows.
struct GroupedCall {
  const void* input = nullptr;  ///< channel 0 at the column and row that output (row, 0) starts at,
                                ///< in the padding or not, and the first depth that exists
  const void* weights = nullptr;  ///< of the first block
  RowsCall* chain = nullptr;      ///< at the first channel and row; moved on by the kernel
  std::int64_t outputs = 0;       ///< channels
  std::int64_t input_row = 0;     ///< the row that `input` lies in
  std::int64_t rows = 0;          ///< of output; as many as tiles hold, but for a plane's last
  std::int64_t depths = 1;        ///< taps along the depth that exist
  std::int64_t depth_offset = 0;  ///< bytes of weights before the first of them
};

}  // namespace fuseplan::cpu
