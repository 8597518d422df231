// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <stdexcept>

#include "driver/problem.hpp"

namespace fuseplan::driver {

/// A descriptor of cuDNN's single functions, destroyed with this.
class CudnnObject {
 public:
  using Create = int (*)(void**);
  using Destroy = int (*)(void*);

  /// `cudnn.check(status, call)` throws what it says of a failure.
  template <typename Cudnn>
  CudnnObject(const Cudnn& cudnn, Create create, Destroy destroy) : destroy_(destroy) {
    cudnn.check(create(&object_), "creating a descriptor of cuDNN's");
  }
  ~CudnnObject() { (void)destroy_(object_); }
  CudnnObject(const CudnnObject&) = delete;
  CudnnObject& operator=(const CudnnObject&) = delete;
  void* get() const { return object_; }

 private:
  Destroy destroy_;
  void* object_ = nullptr;
};

/// cudnnSetTensor4dDescriptorEx
using CudnnSetTensor = int (*)(void* desc, int type, int n, int c, int h, int w, int sn, int sc,
                               int sh, int sw);

/// Throws std::invalid_argument for tensors of other than 4 axes.
template <typename Cudnn>
void set_tensor(const Cudnn& cudnn, CudnnSetTensor set, const CudnnObject& object, int type,
                const Dims& lens, const Dims& strides) {
  if (lens.size() != 4) throw std::invalid_argument("cuDNN is asked for tensors of 4 axes only");
  std::array<int, 4> n{}, s{};
  for (std::size_t i = 0; i < 4; ++i)
    n[i] = static_cast<int>(lens[i]), s[i] = static_cast<int>(strides[i]);
  cudnn.check(set(object.get(), type, n[0], n[1], n[2], n[3], s[0], s[1], s[2], s[3]),
              "cudnnSetTensor4dDescriptorEx");
}

}  // namespace fuseplan::driver
