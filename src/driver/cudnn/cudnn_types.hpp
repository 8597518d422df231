// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

#include "driver/problem.hpp"

namespace fuseplan::driver {

// Values that both of cuDNN's interfaces use.
enum CudnnValue {
  kCudnnFloat = 0,
  kCudnnHalf = 2,
  kCudnnBFloat16 = 9,
  kCudnnCrossCorrelation = 1,
};

inline int cudnn_type(fuseplanDataType_t type) {
  switch (type) {
    case fuseplanFloat:
      return kCudnnFloat;
    case fuseplanHalf:
      return kCudnnHalf;
    case fuseplanBFloat16:
      return kCudnnBFloat16;
    default:
      throw std::invalid_argument("cuDNN is asked for f32, f16 and bf16 only");
  }
}

}  // namespace fuseplan::driver
