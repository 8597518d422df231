// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/tile_turns.hpp"

#include <algorithm>
#include <bit>

#include "base/integer.hpp"
#include "kernels/cpu/emit/strip_finisher.hpp"

namespace fuseplan::cpu {

// A step of pieces is long enough to be a turn, and a short sum too short for a loop and a rest.
int unrolled_steps(Product product, std::int64_t steps, bool overlaps) {
  constexpr int kUnrolled = 4;
  if (traits_of(product).is_split()) return 1;
  return steps >= kUnrolled || !overlaps ? kUnrolled : 1;
}

// As many steps as leave four vectors or more to finish beside each. Their pixels are one grain,
// which is 1, 2, 4 or 8 pixels, or several grains of 8.
Meanwhile meanwhile(const TileGrid& grid, std::int64_t steps, int unrolled) {
  constexpr int kFewestVectors = 4, kMostPixels = 8;
  const auto fits = [&](int finishing) {
    const int pixels = grid.rows() / finishing;
    return grid.rows() % finishing == 0 && round_up(finishing, unrolled) <= steps &&
           (pixels % kMostPixels == 0 || std::has_single_bit(static_cast<unsigned>(pixels)));
  };
  int finishing = grid.rows() * grid.channels / kFewestVectors;
  while (!fits(finishing)) --finishing;
  const auto turns = static_cast<int>(round_up(finishing, unrolled));
  // The many products of a step of pieces are quiet enough.
  const bool spares_turn = unrolled > 1 && turns + unrolled <= steps;
  return {turns - finishing + (spares_turn ? unrolled : 0), finishing};
}

int most_finished(const TileGrid& grid, Product product, std::int64_t steps) {
  const int finishing = meanwhile(grid, steps, unrolled_steps(product, steps, true)).finishing;
  return std::min(grid.rows() / finishing, StripEmitter::most_pixels({grid.channels, kTileLanes}));
}

}  // namespace fuseplan::cpu
