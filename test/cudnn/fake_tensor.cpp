// SPDX-License-Identifier: MIT
// The single functions that describe tensors and copy them into another layout.
#include "fake_tensor.hpp"

extern "C" {
using namespace fuseplan::fake_cudnn;

FAKE_CUDNN_API int cudnnCreateTensorDescriptor(void** object) {
  return enter_and_create<FourAxes>(object);
}
FAKE_CUDNN_API int cudnnDestroyTensorDescriptor(void* object) { return destroy<FourAxes>(object); }
FAKE_CUDNN_API int cudnnSetTensor4dDescriptorEx(void* object, int type, int n, int c, int h, int w,
                                                int sn, int sc, int sh, int sw) {
  if (const int status = enter()) return status;
  *static_cast<FourAxes*>(object) = {type, {n, c, h, w}, {sn, sc, sh, sw}};
  return answer(kSuccess);
}
FAKE_CUDNN_API int cudnnTransformTensor(void* handle, const void* alpha, void* x_desc,
                                        const void* x, const void* beta, void* y_desc, void* y) {
  if (const int status = enter_on(handle)) return status;
  const FourAxes &from = tensor_at(x_desc), &to = tensor_at(y_desc);
  if (factor_at(alpha) != 1 || factor_at(beta) != 0)
    return answer(kBadParameter, "a copy that is none");
  if (from.type != to.type || from.lens != to.lens)
    return answer(kBadParameter, "a copy into another form");
  to.each([&](const Four& at) { to.store(y, at, from.load(x, at)); });
  return answer(kSuccess);
}
}  // extern "C"
