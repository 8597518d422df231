// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "driver/device/buffer.hpp"
#include "driver/device/cuda.hpp"

namespace fuseplan::driver {

/// Inputs of one content and outputs to go with them, so many that a kernel which takes them in
/// turn finds neither in the device's cache: as between the layers of a network, and unlike a loop
/// over one pair. Tensors that are large by themselves get one other pair, if there is room.
class Rotation {
 public:
  Rotation(fuseplanHandle_t handle, const DeviceFacts& facts, const void* input,
           std::size_t input_bytes, std::size_t output_bytes);

  struct Turn {
    const void* input;
    void* output;
  };
  Turn next();
  std::size_t pairs() const { return turns_.size(); }

 private:
  std::deque<DeviceBuffer> memory_;
  std::vector<Turn> turns_;
  std::size_t at_ = 0;
};

}  // namespace fuseplan::driver
