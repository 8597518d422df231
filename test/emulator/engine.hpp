// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#define FP_EMULATOR_ENGINE
#include "fp_emulator.h"

namespace fuseplan::emulator {

/// One launch of a kernel whose code is in this process.
struct Launch {
  void (*enter)(fp_machine*);  ///< fp_emulator_enter of the kernel's library
  void (*kernel)(const void* args);
  const void* args;
  unsigned grid, block;
  unsigned cluster;  ///< blocks that run at once; the grid is a multiple of it
  std::size_t shared_bytes;
  std::span<const fp_machine::range> memory;  ///< all that the kernel may touch
  std::uint64_t seed;                         ///< of the order in which threads run and copies land
};

/// Runs it, cluster after cluster, the threads of a block in random turns from barrier to barrier
/// and the blocks of a cluster in random turns too. Shared memory starts as NaNs in each block.
/// Empty, or what went wrong: a deadlock, threads of one block at different barriers or of one warp
/// at different collectives, an address outside `memory`, a load from the shared memory of a block
/// that is not there, or no longer. Asynchronous copies land at once in the first block, as late as
/// they may in the second, at random in the third, and so on; the seed says which comes first.
std::string run(const Launch& launch);

}  // namespace fuseplan::emulator
