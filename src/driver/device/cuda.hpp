// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "driver/api.hpp"

namespace fuseplan::driver {

/// What the driver tool itself asks of libcuda: facts of a device, and its clock. Everything else
/// goes through fuseplan.
struct DeviceFacts {
  std::string name, arch;  ///< "sm_90"
  int multiprocessors = 0, clock_mhz = 0, memory_clock_mhz = 0, memory_bus_bits = 0;
  std::size_t l2_bytes = 0, memory_bytes = 0, free_bytes = 0;
  int driver_version = 0;  ///< of CUDA: 12040 is 12.4
  std::string driver_path;

  /// Dense multiply-adds at the nominal clock, in GFLOP/s; 0 where nothing is known. A number to
  /// hold times against, not one that has been measured.
  double nominal_gflops(fuseplanDataType_t type) const;
};

/// Time as a device sees it, by events on the handle's stream.
class DeviceClock {
 public:
  /// Throws std::runtime_error for a handle on anything but a CUDA device.
  explicit DeviceClock(fuseplanHandle_t handle);

  /// Seconds from the start of the first to the end of the last of `repeats` calls' work.
  double seconds(const std::function<void()>& work, int repeats) const;
  const DeviceFacts& facts() const { return facts_; }

 private:
  struct Destroy {
    void operator()(void* event) const;
  };
  using Event = std::unique_ptr<void, Destroy>;

  void* stream_ = nullptr;
  Event begin_, end_;
  DeviceFacts facts_;
};

/// Whether a device text names a GPU.
inline bool is_gpu(const std::string& device) { return !device.starts_with("cpu"); }

/// GB/s, read plus written, of copies within the device that no cache can hold.
double device_copy_gbps(fuseplanHandle_t handle, const DeviceClock& clock);

/// Microseconds between two launches of a kernel that has nothing to do, queued one behind the
/// other, and of one launch that is waited for.
struct LaunchCost {
  double queued_us = 0, waited_us = 0;
};
LaunchCost launch_cost(fuseplanHandle_t handle, const DeviceClock& clock);

}  // namespace fuseplan::driver
