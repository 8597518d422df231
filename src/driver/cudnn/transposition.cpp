// SPDX-License-Identifier: MIT
#include "driver/cudnn/transposition.hpp"

#include <array>
#include <stdexcept>

#include "driver/cudnn/cudnn_types.hpp"

namespace fuseplan::driver {

CudnnTransposition::CudnnTransposition(void* handle) : handle_(handle) {
  const Library library = open_cudnn();
  library.find(create_, "cudnnCreateTensorDescriptor");
  library.find(destroy_, "cudnnDestroyTensorDescriptor");
  library.find(set_, "cudnnSetTensor4dDescriptorEx");
  library.find(transform_, "cudnnTransformTensor");
  library.find(words_, "cudnnGetErrorString");
  check(create_(&x_), "cudnnCreateTensorDescriptor");
  check(create_(&y_), "cudnnCreateTensorDescriptor");
}

CudnnTransposition::~CudnnTransposition() {
  for (void* object : {x_, y_})
    if (object != nullptr) (void)destroy_(object);
}

void CudnnTransposition::run(const TensorSpec& from, const void* x, const TensorSpec& to, void* y) {
  constexpr float kOne = 1, kZero = 0;
  describe(x_, from);
  describe(y_, to);
  check(transform_(handle_, &kOne, x_, x, &kZero, y_, y), "cudnnTransformTensor");
}

void CudnnTransposition::describe(void* object, const TensorSpec& tensor) const {
  if (tensor.rank() != 4) throw std::invalid_argument("cuDNN transposes tensors of 4 axes here");
  std::array<int, 4> n{}, s{};
  for (std::size_t i = 0; i < 4; ++i)
    n[i] = static_cast<int>(tensor.lens[i]), s[i] = static_cast<int>(tensor.strides[i]);
  check(set_(object, cudnn_type(tensor.type), n[0], n[1], n[2], n[3], s[0], s[1], s[2], s[3]),
        "cudnnSetTensor4dDescriptorEx");
}

void CudnnTransposition::check(int status, const char* call) const {
  if (status != 0) throw std::runtime_error(std::string(call) + ": " + words_(status));
}

}  // namespace fuseplan::driver
