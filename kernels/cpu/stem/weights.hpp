// SPDX-License-Identifier: MIT
#pragma once

#include "base/parallel.hpp"
#include "kernels/cpu/stem/plan.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {

using FilterKernel = void (*)(const FilterCall*);

/// Transformed weights, f32 from any real type: [vector of output channels][row of positions]
/// [channel][column of positions][lane], zeros behind the last output channel.
std::size_t stem_weight_bytes(const StemPlan& plan);
void transform_stem_weights(const StemPlan& plan, FilterKernel kernel, const void* raw,
                            float* transformed, const Parallel& parallel);

/// Plans with equal formats read equal weights.
std::string stem_weight_format(const StemPlan& plan);

}  // namespace fuseplan::cpu
