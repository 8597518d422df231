// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/element_form.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// A block of elements: pixels by channels, with their distances in memory, in elements.
struct PixelBlock {
  std::int64_t pixels, channels;
  std::int64_t pixel_stride, channel_stride;
  /// From an element to one that will be wanted next, for who asks the caches for it; 0: none.
  std::int64_t ahead = 0;
};

/// Copies planes, or whatever is not pixels of contiguous channels, to such pixels: element (p, c)
/// of the block goes to element p * step + c of `to`. Nothing else is read or written.
using PixelTurn = void (*)(const void* from, const PixelBlock& block, void* to, std::int64_t step);

/// Of elements that become this form of theirs, one of element_form.hpp.
template <typename Form>
PixelTurn pixel_turn_for(Isa isa);

}  // namespace fuseplan::cpu
