// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Data movement around the tile kernels, compiled for an instruction set the CPU must support.
struct Moves {
  /// columns[j][i] = rows[i][j] for a square of `lanes` x `lanes` floats.
  void (*transpose)(const float* const* rows, float* const* columns);
  /// output[c * output_step + r] = input[r * input_step + c] for r < rows, c < columns, both
  /// rounded up to whole squares: memory behind the last row and column is read and written.
  void (*turn)(const float* input, std::int64_t input_step, std::int64_t rows, std::int64_t columns,
               float* output, std::int64_t output_step);
  /// output[i] = input[i * stride], i < count, as f32.
  void (*widen)(const void* input, std::int64_t stride, float* output, std::int64_t count);
  /// Pieces of `width` floats of a row, `step` floats from one to the next; the last may be
  /// shorter.
  void (*deal)(const float* row, std::int64_t count, std::int64_t width, float* output,
               std::int64_t step);
  int lanes;
};

/// `dtype` is that of widen's input: f32, f16 or bf16.
Moves moves_for(DType dtype, Isa isa);

}  // namespace fuseplan::cpu
