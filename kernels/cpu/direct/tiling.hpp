// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/direct/tile_emitter.hpp"

namespace fuseplan::cpu {

/// Neighbouring output columns computed by one kernel call.
struct Tile {
  int variant = 0;  ///< kernel
  int pixels = 0;
  std::int64_t column = 0;  ///< of the first pixel
  TapSpan taps;             ///< along the width; none where the tile sees padding only
};

/// Neighbouring tiles that are finished (chain applied, stored) together.
struct Strip {
  std::size_t first = 0, last = 0;
  std::int64_t column = 0, width = 0;
};

/// How an output row is cut. Variants are the kernels that the tiles need, without their vectors:
/// tiles whose taps fall on padding in the same places share one.
struct Tiling {
  std::vector<TileSpec> variants;
  std::vector<Tile> tiles;
  std::vector<Strip> strips;
};

inline constexpr std::int64_t kStripPixels = 112;  ///< of a strip, at most

/// `base` carries what all variants share: isa, vectors and steps. Tiles get at most `pixels`.
Tiling cut_row(const ConvGeometry& conv, const TileSpec& base, int pixels);

}  // namespace fuseplan::cpu
