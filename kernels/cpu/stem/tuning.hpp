// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/stem/plan.hpp"

namespace fuseplan::cpu {

/// Configurations worth trying, the one a simple model prefers first.
std::vector<StemConfig> stem_tuning_space(const DirectShape& shape, Isa isa,
                                          const CoreRates& rates);

/// Cycles that the model expects of one thread.
double stem_cycles(const StemPlan& plan, const CoreRates& rates);

}  // namespace fuseplan::cpu
