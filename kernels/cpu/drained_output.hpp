// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "kernels/cpu/chain_frame.hpp"

namespace fuseplan::cpu {

/// Two regions in scratch that the second-level cache hardly notices.
inline constexpr std::int64_t kMostRegionBytes = 64 << 10;

/// What a kernel stores to scratch while it moves what it stored before past the caches: one
/// thread's way through output whose rows start anywhere in a cache line. It is made region by
/// region, each of contiguous memory; kernels with FinishSpec::drains move a few lines of the last
/// one after each tile, when no store waits for another.
class DrainedOutput {
 public:
  /// Regions of up to so many bytes; 0: flush() is all that may be called.
  DrainedOutput(std::int64_t most_bytes, Scratch& scratch);
  DrainedOutput(const DrainedOutput&) = delete;

  /// What is stored until the next begin() or flush() are these bytes, all of them.
  void begin(void* output, std::int64_t bytes);
  /// Points a call into the region at its place in scratch.
  void redirect(RowsCall& call);
  /// Moves what is still in scratch. Before fence_streams().
  void flush();

 private:
  /// In scratch; at its place in a cache line.
  struct Region {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t bytes = 0;
  };
  void drain_rest();
  void start_draining(const Region& region);

  std::byte* buffers_[2] = {};
  int turn_ = 0;
  Region filled_;
  Drain drain_;
};

}  // namespace fuseplan::cpu
