// SPDX-License-Identifier: MIT
#include "driver/cudnn/transposition.hpp"

#include "driver/cudnn/cudnn_types.hpp"

namespace fuseplan::driver {

CudnnTransposition::Functions::Functions() {
  const Library library = open_cudnn();
  library.find(create, "cudnnCreateTensorDescriptor");
  library.find(destroy, "cudnnDestroyTensorDescriptor");
  library.find(set, "cudnnSetTensor4dDescriptorEx");
  library.find(transform, "cudnnTransformTensor");
  library.find(words, "cudnnGetErrorString");
}

void CudnnTransposition::Functions::check(int status, const char* call) const {
  if (status != 0) throw std::runtime_error(std::string(call) + ": " + words(status));
}

CudnnTransposition::CudnnTransposition(void* handle) : handle_(handle) {}

void CudnnTransposition::run(const TensorSpec& from, const void* x, const TensorSpec& to, void* y) {
  constexpr float kOne = 1, kZero = 0;
  describe(x_, from);
  describe(y_, to);
  cudnn_.check(cudnn_.transform(handle_, &kOne, x_.get(), x, &kZero, y_.get(), y),
               "cudnnTransformTensor");
}

void CudnnTransposition::describe(const CudnnObject& object, const TensorSpec& tensor) const {
  set_tensor(cudnn_, cudnn_.set, object, cudnn_type(tensor.type), tensor.lens, tensor.strides);
}

}  // namespace fuseplan::driver
