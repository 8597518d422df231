// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/conv1x1/plan.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {

/// Copies the input of output pixels [first, end) of a window, which begins at `window`, to scratch
/// as f32, without the pixels that a stride skips, laid out as the plan says.
void stage_pixels(const Conv1x1Plan& plan, const Moves& moves, const std::byte* window,
                  std::int64_t first, std::int64_t end, float* scratch);

}  // namespace fuseplan::cpu
