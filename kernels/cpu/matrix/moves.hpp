// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/matrix/tile_spec.hpp"
#include "kernels/cpu/pixel_turn.hpp"

namespace fuseplan::cpu {

/// Where pixels go: `step` bytes from one to the next, of which `width` are written, zeros behind
/// the last channel.
struct PixelRows {
  std::byte* to;
  std::int64_t step, width;
};

/// Needs AVX-512.
using PixelCopy = void (*)(const void* from, const PixelBlock& block, const PixelRows& rows);
/// Copies elements of so many bytes: 1, 2 or 4.
PixelCopy pixel_copy_for(std::int64_t element);
/// Copies elements to what tiles of this product read: their pieces, if they have more than one.
PixelCopy tile_copy_for(Product product);

}  // namespace fuseplan::cpu
