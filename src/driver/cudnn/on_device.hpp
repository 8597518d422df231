// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "driver/placement.hpp"
#include "support/tensor.hpp"

namespace fuseplan::driver {

/// A tensor of the host's, on the device.
class OnDevice {
 public:
  OnDevice(fuseplanHandle_t handle, test::HostTensor tensor)
      : tensor_(std::move(tensor)), placement_(handle) {}
  void* get() { return placement_.place(tensor_); }

 private:
  test::HostTensor tensor_;
  Placement placement_;
};

/// Device memory that grows to what it is asked for.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(fuseplanHandle_t handle) : handle_(handle) {}
  ~DeviceBuffer() { (void)fuseplanFree(handle_, memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* get() const { return memory_; }
  /// Throws ApiError where the device has no room; the buffer is empty then.
  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    check(fuseplanFree(handle_, std::exchange(memory_, nullptr)));
    bytes_ = 0;
    check(fuseplanMalloc(handle_, bytes, &memory_));
    bytes_ = bytes;
  }

 private:
  fuseplanHandle_t handle_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace fuseplan::driver
