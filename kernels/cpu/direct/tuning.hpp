// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/direct/config.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Configurations worth trying, the one a simple model prefers first.
std::vector<DirectConfig> tuning_space(const DirectShape& shape, const Target& target,
                                       const CoreRates& rates);
/// Those at its front that differ by more than the blocks around a tile; found much sooner.
std::vector<DirectConfig> leading_configs(const DirectShape& shape, const Target& target,
                                          const CoreRates& rates);

/// Cycles of one thread, for one group and two axes, at the speed that direct convolution reaches
/// where nothing holds it: what other algorithms' estimates are compared with.
double direct_cycles(const DirectShape& shape, Isa isa, const CoreRates& rates);

/// Whether input and weights are bf16, so that a configuration may multiply them in pairs.
bool may_pair(const DirectShape& shape);

}  // namespace fuseplan::cpu
