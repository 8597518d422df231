// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/emit/finish_spec.hpp"
#include "kernels/cpu/int8/tile_spec.hpp"

namespace fuseplan::cpu {

/// Vector registers that accumulate in a tile of this size, those of weights and pixels included,
/// fit the instruction set.
bool byte_tile_fits(Isa isa, DotKind dot, int pixels, int vectors);

/// A tile kernel; `finish` is looked at if spec.finished.
std::vector<std::byte> emit_byte_tile(const ByteTileSpec& spec, const FinishSpec& finish);

}  // namespace fuseplan::cpu
