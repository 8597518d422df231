// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/finish_spec.hpp"

namespace fuseplan::cpu {

class FinishNeeds;

/// One kernel: tiles of `rows` x `vectors` sums over `depth` products of a vector and a scalar,
///   sum[row][vector] = sum over d of vectors[d][vector] * scalars[d][row],
/// finished by the chain where they are and stored; tile after tile. Steps in bytes.
struct ProductSpec {
  int rows = 0, vectors = 0;
  int tail = 16;  ///< lanes of the last vector
  std::int64_t depth = 0;
  std::int64_t vector_depth = 0;  ///< neighbouring vectors are neighbours in memory
  std::int64_t scalar_depth = 0, scalar_row = 0;
  /// Lanes of a partial vector that are not the tensor's own: they must not be read.
  bool guarded_vectors = false;
  /// Tiles follow one another along lanes (the vectors move) or along rows (the scalars do).
  bool along_lanes = false;
  /// Asks the caches in time for the output's lines.
  bool prefetch_output = false;
  /// Asks the caches for the next tile's scalars, where those of a row are neighbours and so are
  /// the rows. Not together with a slice of weights.
  bool prefetch_scalars = false;
  /// Asks the first-level cache for the next tile's scalars at each depth, where those of all rows
  /// are neighbours and a depth's lie far from the next's.
  bool prefetch_depths = false;
  /// Asks the second-level cache for the weights of the next piece of channels: a tile for `slice`
  /// bytes of them, the first tile of a call for those from `first_slice` slices on. 0: for none.
  std::int64_t slice = 0, first_slice = 0;
  FinishSpec finish;
};

struct ProductCall {
  const float* vectors = nullptr;
  const float* scalars = nullptr;
  const RowsCall* chain = nullptr;   ///< at the first tile's first sum
  std::int64_t tiles = 0;            ///< at least 1
  const void* next_piece = nullptr;  ///< weights to ask for; may end early, they are not read
};

/// Sums, vectors and a scalar fit the registers of AVX-512.
bool product_fits(int rows, int vectors);
/// No register is left for a scalar, or none pays: every product loads its own.
bool product_embeds(int rows, int vectors);

/// `void product(const ProductCall*)`, for AVX-512.
/// `needs`: of its chain.
std::vector<std::byte> emit_product(const ProductSpec& spec, FinishNeeds& needs);

}  // namespace fuseplan::cpu
