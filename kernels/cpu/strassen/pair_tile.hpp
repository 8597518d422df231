// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/conv1x1/product_tile.hpp"

namespace fuseplan::cpu {

/// One kernel: tiles of two halves of rows by two halves of lanes, whose four quarters are summed
/// by the products of scheme.hpp and finished by the chain; tile after tile. A product's factors
/// follow the ones of the product before, both in the order of the products.
struct PairTileSpec {
  LoopSpec loop;  ///< rows and vectors of a half
  /// From the first sum of a half to that of the other, among the outputs.
  std::int64_t row_distance = 0, lane_distance = 0;
  bool lacks_row = false;  ///< the last of the second half

  /// Where the left factors, those of the input, come from.
  enum class Input : std::uint8_t {
    staged,   ///< all of them are staged
    scalars,  ///< sums are staged, the others are read from the tensor
    vectors   ///< all are made of the tensor's in passing
  } input = Input::staged;
  /// Bytes in the tensor from the first half of the input channels to the second, and from the
  /// first half of the pixels to the second.
  std::int64_t input_channels = 0, input_pixels = 0;
  ScalarSteps input_scalars;  ///< if they are read there

  /// Bytes from a product's factors to the next one's, and from a tile's left factors to the next
  /// tile's.
  std::int64_t vector_product = 0, scalar_product = 0, tile = 0;
  /// Lanes are pixels, along which tiles follow one another; otherwise rows are.
  bool along_lanes = false;
  bool prefetch_output = false;  ///< asks the caches in time for the output's lines
  /// Asks for what ProductCall::next_piece and next_input point to, so many bytes a tile; the first
  /// tile of a call for those from `first_slice` slices on.
  std::int64_t slice = 0, input_slice = 0, first_slice = 0;
  /// Adds to sums that were kept, of one tile so many bytes behind the other's; a call says whether
  /// they are kept again or finished.
  bool continues = false;
  std::int64_t kept = 0;
  FinishSpec finish;
};

/// `void pair_tile(const ProductCall*)`.
std::vector<std::byte> emit_pair_tile(const PairTileSpec& spec);

}  // namespace fuseplan::cpu
