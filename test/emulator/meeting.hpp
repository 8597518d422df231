// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "engine.hpp"

namespace fuseplan::emulator {

/// Threads that wait for each other: all of a block or a cluster at a barrier, all of a warp at a
/// collective.
struct Meeting {
  unsigned expected = 0, arrived = 0;
  std::uint64_t generation = 0;
  int line = 0;
  fp_machine::act act = nullptr;
  std::vector<void*> given;  ///< by lane
};

}  // namespace fuseplan::emulator
