// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/direct/config.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Configurations worth trying, the one a simple model prefers first.
std::vector<DirectConfig> tuning_space(const DirectShape& shape, Isa isa);

}  // namespace fuseplan::cpu
