// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "kernels/cpu/conv1x1/config.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// Configurations worth trying, the one a simple model prefers first.
std::vector<Conv1x1Config> tuning_space(const Conv1x1Shape& shape, const CoreRates& rates);

/// The least that the model expects one of them to take on one thread, in multiply-adds of a
/// vector.
double conv1x1_products(const Conv1x1Shape& shape, const CoreRates& rates);

/// What all weights take to come once to the first-level cache, in the same, where images may share
/// a window and so decide how often they do; otherwise 0.
double weights_of_a_window(const Conv1x1Shape& shape, const CoreRates& rates);

}  // namespace fuseplan::cpu
