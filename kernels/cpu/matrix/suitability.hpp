// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/matrix/tile_spec.hpp"

namespace fuseplan::cpu {

/// How many times the speed of the direct kernel, which multiplies and adds in f32, is to be
/// expected of numbers that are split into pieces.
double matrix_speedup(const DirectShape& shape, Product product);

}  // namespace fuseplan::cpu
