// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/int8/moves.hpp"

namespace fuseplan::cpu {

/// Copies elements of so many bytes (1 or 2): (p, c) of the block to element p * step + c of `to`.
using PixelCopy = void (*)(const void* from, const BytePixels& block, void* to, std::int64_t step);
PixelCopy pixel_copy_for(int element);

}  // namespace fuseplan::cpu
