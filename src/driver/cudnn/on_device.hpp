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

}  // namespace fuseplan::driver
