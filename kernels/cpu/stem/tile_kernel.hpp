// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/winograd/axis.hpp"

namespace fuseplan::cpu {

/// A kernel that sums a vector of output channels over all channels of transformed tiles, a few
/// tiles together, and transforms the sums back as soon as a row of positions is complete.
struct StemTileSpec {
  Isa isa{};  ///< AVX2 or AVX-512
  const Axis *rows = nullptr, *columns = nullptr;
  int tiles = 1;              ///< at once
  std::int64_t channels = 0;  ///< that are summed
  std::int64_t width = 0;     ///< floats from one position of a tile's values to the next
  std::int64_t output_row = 0, output_column = 0;  ///< floats between outputs
};

struct StemTileCall {
  const float* values = nullptr;   ///< [tile][position][channel]
  const float* weights = nullptr;  ///< [row of positions][channel][column of positions][lane]
  float* outputs = nullptr;        ///< [row][column][lane], at the first tile
  std::int64_t groups = 0;         ///< of spec.tiles tiles, at least 1
};

/// Sums, and a vector of weights, fit the registers.
bool stem_tiles_fit(Isa isa, const Axis& columns, int tiles);

/// `void stem_tiles(const StemTileCall*)`.
std::vector<std::byte> emit_stem_tiles(const StemTileSpec& spec);

}  // namespace fuseplan::cpu
