// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/direct/config.hpp"
#include "kernels/cpu/direct/shape.hpp"

namespace fuseplan::cpu {

/// The given configurations, in their order, and behind them what a search may find to be faster
/// than a model foresees: other sizes of blocks and chunks, and an f32 input that is copied before
/// it is read (strides that share sets of the cache are padded in the copy).
std::vector<DirectConfig> with_variations(std::vector<DirectConfig> configs,
                                          const DirectShape& shape);

}  // namespace fuseplan::cpu
