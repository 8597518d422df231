// SPDX-License-Identifier: MIT
#pragma once

#include "driver/bench/row.hpp"
#include "driver/device/cuda.hpp"
#include "driver/device/device_peer.hpp"

namespace fuseplan::driver {

/// What a device row is measured with.
struct DeviceBench {
  fuseplanHandle_t handle;
  const DeviceClock& clock;
  double copy_gbps;  ///< the roof of memory
  double seconds;    ///< spent timing one row
};

/// Like measure_row(), on a device: fuseplan and every way of the peers in turns by the device's
/// clock, over tensors that its cache does not hold. Throws std::exception for what fuseplan
/// refuses.
BenchRow measure_device_row(const DeviceBench& bench, const ProblemSpec& problem,
                            const DevicePeers& peers);

}  // namespace fuseplan::driver
