// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace fuseplan::driver {

/// What this machine can do at most, measured now, on `threads` threads.

/// Peak of f32 fused multiply-adds in GFLOP/s: 24 independent accumulators of the widest vectors
/// the CPU has, operands in registers.
double fma_peak_gflops(int threads);

/// Bandwidth in GB/s (bytes read plus bytes written) of copying `bytes` / 2 from one buffer to
/// another, the better of ordinary and non-temporal stores.
double copy_gbps(std::size_t bytes, int threads);

}  // namespace fuseplan::driver
