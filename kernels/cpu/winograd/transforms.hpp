// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/winograd/axis.hpp"

namespace fuseplan::cpu {

// Kernels that transform tiles, with channels in lanes. Positions are the products of a tile,
// numbered row by row. Strides are in bytes and constants of the code.

/// V = B^T d B, `void(const InputCall*)`: input channels of one tile.
struct InputCall {
  /// The tile's inputs, row by row, each `offset` bytes behind what is given here. Padding points
  /// to as many zeros as there are channels.
  const void* const* points = nullptr;
  std::int64_t offset = 0;
  float* output = nullptr;    ///< [position][channel], written in whole vectors
  std::int64_t channels = 0;  ///< lanes behind the last one become zero
};
/// `whole_vectors`: calls are of multiples of a vector's lanes only. `next_tile`: bytes from a
/// tile's input to the next one's, which the caches are asked for; 0: they are not.
std::vector<std::byte> emit_input_transform(Isa isa, DType dtype, const Axis& rows,
                                            const Axis& columns, std::int64_t position,
                                            bool whole_vectors, std::int64_t next_tile);

/// U = G g G^T, `void(const FilterCall*)`: filters of a vector of output channels.
struct FilterCall {
  const float* filters = nullptr;  ///< [input channel][tap][lane]
  float* output = nullptr;         ///< [position][input channel][lane]
  std::int64_t position = 0;       ///< of the output, from one position to the next, in bytes
  std::int64_t step = 0;           ///< from one input channel to the next, in bytes
  std::int64_t channels = 0;       ///< at least 1
};
/// `streaming`: stores that bypass the caches; the output is aligned to whole vectors.
std::vector<std::byte> emit_filter_transform(Isa isa, const Axis& rows, const Axis& columns,
                                             bool streaming);

/// Y = A^T m A, `void(const OutputCall*)`: a tile of output channels for neighbouring tiles.
struct OutputCall {
  const float* sums = nullptr;          ///< [position][tile][vector of channels]
  float* pixels = nullptr;              ///< [row][column][vector of channels]
  std::int64_t tiles = 0, vectors = 0;  ///< both at least 1
};
struct OutputStrides {
  std::int64_t position, row, column;
};
std::vector<std::byte> emit_output_transform(Isa isa, const Axis& rows, const Axis& columns,
                                             const OutputStrides& strides);

}  // namespace fuseplan::cpu
