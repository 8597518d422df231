// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

// Programs with the library fuseplan_failing_memory in them allocate through this.
namespace fuseplan::test {

/// This thread's allocations, from now on.
struct Trap {
  long left = -1;  ///< until one fails; negative: none will
  bool stays = false, sprung = false;
};
extern constinit thread_local Trap trap;
extern std::atomic<long> living;

}  // namespace fuseplan::test
