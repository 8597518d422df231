// SPDX-License-Identifier: MIT
#pragma once

#include "driver/bench/measure_row.hpp"

namespace fuseplan::driver {

/// Times from a description to something that can run, in turns: creating, compiling and dropping
/// fuseplan's plan on a handle without a cache, and what the peers say they need.
BenchRow measure_creation(fuseplanHandle_t handle, const ProblemSpec& problem, const Peers& peers,
                          const RowSettings& settings);

}  // namespace fuseplan::driver
