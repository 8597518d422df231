// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/depthwise/plan.hpp"

namespace fuseplan::cpu {

/// `void stage(const RowsCall*)` for the plan's columns-in-lanes form: widens input rows to f32;
/// with stride 2 the even columns go to phase 0 and the odd ones to phase 1. Lanes are input
/// columns, always all of them; `output` is column 0 of phase 0. Writes nothing but zeros behind
/// the last column, and that only within the phase. Empty for strides above 2; see stage_by_phase.
std::vector<std::byte> emit_stage(const DepthwisePlan& plan);

/// The same for any stride.
void stage_by_phase(const DepthwisePlan& plan, const RowsCall& call);

}  // namespace fuseplan::cpu
