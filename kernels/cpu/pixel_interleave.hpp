// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/pixel_turn.hpp"

namespace fuseplan::cpu {

/// Does what a PixelTurn does, with AVX-512, for planes of few channels that become pixels without
/// gaps; returns false, and does nothing, for others.
template <typename Form>
bool interleave(const void* from, const PixelBlock& block, void* to, std::int64_t step);

}  // namespace fuseplan::cpu
