// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "driver/cudnn/cudnn_types.hpp"
#include "driver/cudnn/object.hpp"
#include "driver/cudnn/session.hpp"

namespace fuseplan::driver {

/// cudnnConvolutionFwdAlgoPerf_t
struct CudnnAlgorithm {
  int algorithm, status;
  float ms;
  std::size_t workspace;
  int deterministic, math;
  int reserved[3];
};
static_assert(sizeof(CudnnAlgorithm) == 48);

// Values of this interface's enumerations.
enum CudnnLegacyValue {
  kCudnnNchw = 0,
  kCudnnNhwc = 1,
  kCudnnDefaultMath = 0,
  kCudnnTensorMath = 1,
  kCudnnFmaMath = 3,
  kCudnnRelu = 1,
  kCudnnPropagateNan = 1,
  kCudnnSpatial = 1
};

/// cuDNN's interface of single functions, by our own declarations: all that version 8 has, and what
/// version 9 still has for what its graphs do not compute. Throws std::runtime_error naming the
/// function that a library lacks.
struct CudnnLegacy {
#define FUSEPLAN_CUDNN(name, symbol, parameters) int(*name) parameters = nullptr;
#include "driver/cudnn/legacy_functions.def"
#undef FUSEPLAN_CUDNN

  CudnnLegacy() {
    const Library library = open_cudnn();
#define FUSEPLAN_CUDNN(name, symbol, parameters) library.find(name, symbol);
#include "driver/cudnn/legacy_functions.def"
#undef FUSEPLAN_CUDNN
    library.find(words_, "cudnnGetErrorString");
  }
  void check(int status, const char* call) const {
    if (status != 0) throw std::runtime_error(std::string(call) + ": " + words_(status));
  }

 private:
  const char* (*words_)(int) = nullptr;
};

}  // namespace fuseplan::driver
