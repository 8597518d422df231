// SPDX-License-Identifier: MIT
#pragma once

#include <fuseplan/fuseplan.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace fuseplan::driver {

/// A call that failed: its status and the library's own sentence.
class ApiError : public std::runtime_error {
 public:
  ApiError(fuseplanStatus_t status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  fuseplanStatus_t status() const { return status_; }

 private:
  fuseplanStatus_t status_;
};

inline void check(fuseplanStatus_t status) {
  if (status == fuseplanStatusSuccess) return;
  throw ApiError(
      status, std::string(fuseplanGetErrorString(status)) + ": " + fuseplanGetLastErrorMessage());
}

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    (void)Destroy(object);
  }
};
template <typename Token, auto Destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Token>, Destroyer<Destroy>>;

using Handle = Owned<fuseplanHandle_t, fuseplanDestroy>;
using TensorDesc = Owned<fuseplanTensorDescriptor_t, fuseplanDestroyTensorDescriptor>;
using ConvDesc = Owned<fuseplanConvolutionDescriptor_t, fuseplanDestroyConvolutionDescriptor>;
using Plan = Owned<fuseplanPlan_t, fuseplanDestroyPlan>;
using Args = Owned<fuseplanOperatorArgs_t, fuseplanDestroyOperatorArgs>;

/// make<Plan>(fuseplanCreatePlan, direction, desc): the created object, owned.
template <typename T, typename Create, typename... Arguments>
T make(Create create, Arguments... arguments) {
  typename T::pointer object = nullptr;
  check(create(&object, arguments...));
  return T(object);
}

/// Calls a function that fills (text, size) with a buffer that is large enough.
template <typename Call>
std::string text_of(Call call) {
  std::size_t size = 0;
  check(call(nullptr, &size));
  std::string text(size, '\0');
  check(call(text.data(), &size));
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

}  // namespace fuseplan::driver
