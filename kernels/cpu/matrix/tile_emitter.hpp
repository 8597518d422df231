// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/emit/finish_spec.hpp"
#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

std::vector<std::byte> emit_matrix_tile(const MatrixTileSpec& spec, const FinishSpec& finish);

/// `void(void* sums)`: stores the sums that a full kernel left in the tiles.
std::vector<std::byte> emit_matrix_store(const TileGrid& grid);

/// `void()`: gives the tiles the shapes that kernels of this grid and depth expect. A thread calls
/// it before the first of them.
std::vector<std::byte> emit_matrix_begin(const TileGrid& grid, int depth_bytes);
/// `void()`: gives the tiles back.
std::vector<std::byte> emit_matrix_end();

}  // namespace fuseplan::cpu
