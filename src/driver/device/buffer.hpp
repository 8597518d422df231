// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "driver/api.hpp"

namespace fuseplan::driver {

/// Device memory for as long as this lives; it grows to what it is asked for.
class DeviceBuffer {
 public:
  /// Throws ApiError, as reserve() does.
  explicit DeviceBuffer(fuseplanHandle_t handle, std::size_t bytes = 0) : handle_(handle) {
    reserve(bytes);
  }
  ~DeviceBuffer() { (void)fuseplanFree(handle_, memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* get() const { return memory_; }
  /// Forgets what it holds where it grows. Throws ApiError where the device has no room; the buffer
  /// is empty then.
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
