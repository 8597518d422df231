// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/int8/moves.hpp"
#include "kernels/cpu/int8/schedule.hpp"

namespace fuseplan::cpu {

/// Bytes that stage_window needs: the plan's stage, and room for the last lane of the last run.
std::size_t stage_bytes(const BytePlan& plan);

/// Copies the input that the window's taps reach to `scratch`, as plan.stage says.
void stage_window(const BytePlan& plan, const ByteMoves& moves, const void* input,
                  const ByteWindow& window, std::byte* scratch);

}  // namespace fuseplan::cpu
