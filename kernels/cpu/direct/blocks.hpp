// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Data movement around the tile kernels, compiled for an instruction set the CPU must support.
struct BlockOps {
  /// columns[j][i] = rows[i][j] for a square of `lanes` x `lanes` floats.
  void (*transpose)(const float* const* rows, float* const* columns);
  /// output[i] = input[i * stride], i < count, as f32.
  void (*widen)(const void* input, std::int64_t stride, float* output, std::int64_t count);
  int lanes;
};

/// `dtype` is that of widen's input: f32, f16 or bf16.
BlockOps block_ops(DType dtype, Isa isa);

}  // namespace fuseplan::cpu
