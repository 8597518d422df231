// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/cpu/int8/tile_spec.hpp"

namespace fuseplan::cpu {

/// A block of 8-bit integers: pixels by channels, with their distances in memory.
struct BytePixels {
  std::int64_t pixels, channels;
  std::int64_t pixel_stride, channel_stride;
  /// From an element to one that will be wanted next, for who asks the caches for it; 0: none.
  std::int64_t ahead = 0;
};

/// Copies bytes to where tile kernels read them, as their instruction wants them.
struct ByteMoves {
  /// Element (p, c) of the block goes to element p * step + c of `to`.
  void (*copy)(const std::uint8_t* from, const BytePixels& block, void* to, std::int64_t step);
  /// `count` elements that are 0.
  void (*fill)(void* to, std::int64_t count);
};
ByteMoves byte_moves_for(bool is_signed, DotKind dot);

}  // namespace fuseplan::cpu
