// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/matrix/plan.hpp"

namespace fuseplan::cpu {

/// Whether sums by plane are expected to be faster. Tiles of neighbouring pixels cross lines where
/// taps do, and planes of few pixels are short rows.
bool prefers_planes(const DirectShape& shape, Product product);

/// Configurations worth trying, the one expected to be fastest first.
std::vector<MatrixConfig> matrix_tuning_space(const DirectShape& shape, Product product);

}  // namespace fuseplan::cpu
