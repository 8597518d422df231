// SPDX-License-Identifier: MIT
#pragma once

#include "driver/cudnn/legacy_api.hpp"
#include "driver/device/device_peer.hpp"

namespace fuseplan::driver {

struct LegacySide {
  fuseplanHandle_t device;
  const CudnnLegacy& cudnn;
  void* handle;  ///< cuDNN's
};

/// By cuDNN's single functions: op by op, and its convolution + bias + RELU with the batch
/// normalisation multiplied into the weights beforehand, each with the algorithm that cuDNN itself
/// found to be the fastest.
void add_legacy_ways(DeviceWays& ways, const LegacySide& side, BatchedCase& fused,
                     const void* input, void* output);

}  // namespace fuseplan::driver
