// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/cpu/winograd/plan.hpp"

namespace fuseplan::cpu {

/// How a launch is dealt out: a unit is a block of pieces with a share of the tiles of output
/// channels. Blocks are cut smaller for more threads, which changes no sum: each is of one tile and
/// one output channel, over the input channels in order.
struct WinogradSchedule {
  WinogradSchedule(const WinogradPlan& plan, int threads, bool weights_are_raw);

  std::int64_t block_pieces = 1, blocks = 1, shares = 1;
  int parts = 1;
};

}  // namespace fuseplan::cpu
