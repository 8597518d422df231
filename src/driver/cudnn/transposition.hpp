// SPDX-License-Identifier: MIT
#pragma once

#include "driver/cudnn/session.hpp"
#include "driver/problem.hpp"

namespace fuseplan::driver {

/// cuDNN's copy of a tensor into another layout. Throws std::runtime_error naming what a library
/// lacks.
class CudnnTransposition {
 public:
  explicit CudnnTransposition(void* handle);
  ~CudnnTransposition();
  CudnnTransposition(const CudnnTransposition&) = delete;
  CudnnTransposition& operator=(const CudnnTransposition&) = delete;

  /// Both of the same type and lengths, of 4 axes.
  void run(const TensorSpec& from, const void* x, const TensorSpec& to, void* y);

 private:
  void describe(void* object, const TensorSpec& tensor) const;
  void check(int status, const char* call) const;

  void* handle_;
  int (*create_)(void**) = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*set_)(void*, int type, int n, int c, int h, int w, int sn, int sc, int sh,
              int sw) = nullptr;
  int (*transform_)(void* handle, const void* alpha, void* x_desc, const void* x, const void* beta,
                    void* y_desc, void* y) = nullptr;
  const char* (*words_)(int) = nullptr;
  void *x_ = nullptr, *y_ = nullptr;
};

}  // namespace fuseplan::driver
