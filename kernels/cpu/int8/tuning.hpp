// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/int8/config.hpp"
#include "kernels/cpu/int8/tile_spec.hpp"

namespace fuseplan::cpu {

/// Configurations worth trying, the one expected to be fastest first.
std::vector<ByteConfig> byte_tuning_space(const DirectShape& shape, Isa isa, DotKind dot);

}  // namespace fuseplan::cpu
