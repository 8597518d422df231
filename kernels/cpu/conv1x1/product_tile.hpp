// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/conv1x1/product_loop.hpp"
#include "kernels/cpu/emit/finish_spec.hpp"

namespace fuseplan::cpu {

/// One kernel: tiles of sums of products (LoopSpec), finished by the chain where they are and
/// stored; tile after tile.
struct ProductSpec {
  LoopSpec loop;
  /// Lanes of a partial vector that are not the tensor's own: they must not be read.
  bool guarded_vectors = false;
  /// Tiles follow one another along lanes (the vectors move) or along rows (the scalars do).
  bool along_lanes = false;
  std::int64_t tile_step = 0;  ///< bytes from a tile's vectors or scalars to the next's
  /// Asks the caches in time for the output's lines.
  bool prefetch_output = false;
  /// Asks the first-level cache for the next tile's vectors, which lie behind this one's.
  bool prefetch_vectors = false;
  /// Asks the caches for the next tile's scalars, where those of a row are neighbours and so are
  /// the rows. Not together with a slice of weights.
  bool prefetch_scalars = false;
  /// Asks the second-level cache for the weights of the next piece of channels: a tile for `slice`
  /// bytes of them, the first tile of a call for those from `first_slice` slices on. 0: for none.
  std::int64_t slice = 0, first_slice = 0;
  FinishSpec finish;
};

struct ProductCall {
  const float* vectors = nullptr;
  const float* scalars = nullptr;
  const float* input = nullptr;      ///< of kernels that read it besides, where it lies
  const void* next_input = nullptr;  ///< of kernels that ask for it, like next_piece
  float* kept = nullptr;             ///< of kernels that add to sums that were kept
  std::int64_t keeps = 0;            ///< whether they keep what they add to, or finish it
  const RowsCall* chain = nullptr;   ///< at the first tile's first sum
  std::int64_t tiles = 0;            ///< at least 1
  const void* next_piece = nullptr;  ///< weights to ask for; may end early, they are not read
};

/// `void product(const ProductCall*)`.
std::vector<std::byte> emit_product(const ProductSpec& spec);

}  // namespace fuseplan::cpu
