// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/int8/moves.hpp"

namespace fuseplan::cpu {

/// Where pixels go: `step` bytes from one to the next, of which `width` are written, zeros behind
/// the last channel.
struct PixelRows {
  std::byte* to;
  std::int64_t step, width;
};

/// Copies elements of so many bytes (1 or 2). Needs AVX-512.
using PixelCopy = void (*)(const void* from, const BytePixels& block, const PixelRows& rows);
PixelCopy pixel_copy_for(int element);

}  // namespace fuseplan::cpu
