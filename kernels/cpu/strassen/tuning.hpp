// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/conv1x1/shape.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/strassen/config.hpp"

namespace fuseplan::cpu {

/// Configurations worth trying, the one a simple model prefers first. Empty where there is no axis
/// of lanes that can be halved.
std::vector<StrassenConfig> strassen_tuning_space(const Conv1x1Shape& shape,
                                                  const CoreRates& rates);

/// What the model expects the first of them to take on one thread, in multiply-adds of a vector.
double strassen_products(const Conv1x1Shape& shape, const CoreRates& rates);

}  // namespace fuseplan::cpu
