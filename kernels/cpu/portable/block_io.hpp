// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.hpp"

namespace fuseplan::cpu {

/// `rows` runs of `lanes` floats, one every `pitch`.
struct BlockShape {
  int rows, lanes, pitch;
  std::size_t count() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(pitch);
  }
  bool operator==(const BlockShape&) const = default;
};

/// Elements between neighbours in memory along the two axes of a block.
struct BlockSteps {
  std::int64_t row, lane;
  bool operator==(const BlockSteps&) const = default;
};

/// Whether f32 data can be used where it lies instead of being loaded.
bool is_dense(DType dtype, BlockSteps steps, BlockShape shape);

/// Widens a block of f32, f16, bf16, i8 or u8 elements to floats; lanes behind `lanes` stay as they are.
void load_block(DType dtype, const void* data, BlockSteps steps, BlockShape shape, float* block);

/// Rounds a block to `dtype`, to nearest even, and stores it; 8-bit integers saturate.
void store_block(DType dtype, void* data, BlockSteps steps, BlockShape shape, const float* block);

}  // namespace fuseplan::cpu
