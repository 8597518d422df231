// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/grouped/plan.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Whether the tile's sums fit the registers beside inputs and weights. If the chain needs more,
/// some wait on the stack.
bool grouped_tile_fits(const GroupedShape& shape, const GroupedConfig& config);

/// Tiles whose sums fit the registers beside what the chain needs, best by a model first; where
/// prefetching may pay, then all once more with it, or without. Never empty: one sum always fits.
std::vector<GroupedConfig> grouped_tuning_space(const GroupedShape& shape, const CoreRates& rates);
/// The first of them.
GroupedConfig first_grouped_config(const GroupedShape& shape, const CoreRates& rates);

}  // namespace fuseplan::cpu
