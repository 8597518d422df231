// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "driver/device/library.hpp"

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

// Values of cuDNN's enumerations.
enum CudnnValue {
  kCudnnFloat = 0,
  kCudnnHalf = 2,
  kCudnnBFloat16 = 9,
  kCudnnNchw = 0,
  kCudnnNhwc = 1,
  kCudnnCrossCorrelation = 1,
  kCudnnDefaultMath = 0,
  kCudnnTensorMath = 1,
  kCudnnFmaMath = 3,
  kCudnnRelu = 1,
  kCudnnPropagateNan = 1,
  kCudnnSpatial = 1
};

/// The library, with our own declarations of what is called.
struct Cudnn {
#define FUSEPLAN_CUDNN(name, symbol, parameters) int(*name) parameters = nullptr;
#include "driver/device/cudnn_functions.def"
#undef FUSEPLAN_CUDNN
  std::size_t version = 0;  ///< 91900 is 9.19.0, 8907 is 8.9.7
  std::string path;

  Cudnn() {
    const Library library("FUSEPLAN_LIB_CUDNN", {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"});
#define FUSEPLAN_CUDNN(name, symbol, parameters) library.find(name, symbol);
#include "driver/device/cudnn_functions.def"
#undef FUSEPLAN_CUDNN
    std::size_t (*get_version)() = nullptr;
    const char* (*words)(int) = nullptr;
    library.find(get_version, "cudnnGetVersion");
    library.find(words, "cudnnGetErrorString");
    version = get_version();
    words_ = words;
    path = library.path();
  }
  void check(int status, const char* call) const {
    if (status != 0) throw std::runtime_error(std::string(call) + ": " + words_(status));
  }

 private:
  const char* (*words_)(int) = nullptr;
};

/// A descriptor, destroyed with this.
class CudnnObject {
 public:
  CudnnObject(const Cudnn& cudnn, int (*create)(void**), int (*destroy)(void*))
      : destroy_(destroy) {
    cudnn.check(create(&object_), "creating a cuDNN object");
  }
  ~CudnnObject() { (void)destroy_(object_); }
  CudnnObject(const CudnnObject&) = delete;
  CudnnObject& operator=(const CudnnObject&) = delete;
  void* get() const { return object_; }

 private:
  int (*destroy_)(void*);
  void* object_ = nullptr;
};

}  // namespace fuseplan::driver
