// SPDX-License-Identifier: MIT
#pragma once

#include "driver/cudnn/object.hpp"
#include "driver/cudnn/session.hpp"

namespace fuseplan::driver {

/// cuDNN's copy of a tensor into another layout. Throws std::runtime_error naming what a library
/// lacks.
class CudnnTransposition {
 public:
  explicit CudnnTransposition(void* handle);

  /// Both of the same type and lengths, of 4 axes.
  void run(const TensorSpec& from, const void* x, const TensorSpec& to, void* y);

 private:
  struct Functions {
    Functions();
    void check(int status, const char* call) const;

    CudnnObject::Create create = nullptr;
    CudnnObject::Destroy destroy = nullptr;
    CudnnSetTensor set = nullptr;
    int (*transform)(void* handle, const void* alpha, void* x_desc, const void* x, const void* beta,
                     void* y_desc, void* y) = nullptr;
    const char* (*words)(int) = nullptr;
  };
  void describe(const CudnnObject& object, const TensorSpec& tensor) const;

  void* handle_;
  Functions cudnn_;
  CudnnObject x_{cudnn_, cudnn_.create, cudnn_.destroy}, y_{cudnn_, cudnn_.create, cudnn_.destroy};
};

}  // namespace fuseplan::driver
