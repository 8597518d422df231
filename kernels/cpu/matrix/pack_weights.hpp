// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/parallel.hpp"
#include "kernels/cpu/matrix/plan.hpp"

namespace fuseplan::cpu {

/// Packed weights, read strictly linearly by the tile kernels:
///   [group][tile of channels][step][tap][vector of channels][piece]{[lane of the step][output
///   channel]}
/// where a lane is 4 bytes of neighbouring input channels; by plane {[output channel][lane]}. Zeros
/// stand behind the last input and output channel.
std::size_t packed_matrix_weights_size(const MatrixPlan& plan);
void pack_matrix_weights(const MatrixPlan& plan, const void* raw, void* packed,
                         const Parallel& parallel);

/// Plans with equal formats read equal packed weights.
std::string packed_matrix_weights_format(const MatrixPlan& plan);

}  // namespace fuseplan::cpu
