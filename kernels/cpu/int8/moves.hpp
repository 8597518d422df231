// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/int8/tile_spec.hpp"
#include "kernels/cpu/pixel_turn.hpp"

namespace fuseplan::cpu {

/// Copies bytes to where tile kernels read them, as their instruction wants them.
struct ByteMoves {
  PixelTurn copy;  ///< of pixels with contiguous channels
  PixelTurn turn;  ///< of others
  /// `count` elements that are 0.
  void (*fill)(void* to, std::int64_t count);
};
ByteMoves byte_moves_for(bool is_signed, DotKind dot, Isa isa);

}  // namespace fuseplan::cpu
