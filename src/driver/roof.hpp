// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace fuseplan::driver {

/// What this machine can do at most, measured now, on `threads` threads.

/// Peak of f32 fused multiply-adds in GFLOP/s: 24 independent accumulators of the widest vectors
/// the CPU has, operands in registers. The best of several bursts: a roof is what the machine can
/// do when nothing disturbs it.
double fma_peak_gflops(int threads);
/// One burst of about a millisecond, to be taken in turns with what is held against it.
double fma_burst_gflops(int threads);

/// Copying `bytes` / 2 from one buffer to another, by the best of the library's copy and loops with
/// ordinary and with non-temporal stores, in warm caches.
class CopyRoof {
 public:
  CopyRoof(std::size_t bytes, int threads);
  /// GB/s, bytes read plus bytes written, of one burst.
  double burst_gbps();

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  void run(int kind);

  std::size_t half_;
  int threads_;
  std::unique_ptr<char, Free> from_, to_;
};
/// The best of several bursts.
double copy_gbps(std::size_t bytes, int threads);

}  // namespace fuseplan::driver
