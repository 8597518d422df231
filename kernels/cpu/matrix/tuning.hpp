// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/matrix/plan.hpp"

namespace fuseplan::cpu {

/// Configurations worth trying, the one expected to be fastest first.
std::vector<MatrixConfig> matrix_tuning_space(const DirectShape& shape, Product product);

}  // namespace fuseplan::cpu
