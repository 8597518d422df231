// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/one_shot.hpp"
#include "api/results.hpp"
#include "api/string_pool.hpp"
#include "api/tokens.hpp"
#include "fuseplan/types.h"
#include "plan/op.hpp"
#include "run/args.hpp"
#include "run/handle.hpp"
#include "run/plan.hpp"

// What the tokens of the C API stand for.
namespace fuseplan::api {

struct HandleObject {
  explicit HandleObject(std::string_view device, void* stream) : handle(device, stream) {}
  Handle handle;
  OneShots one_shots;
};

struct TensorObject {
  std::optional<Tensor> tensor;

  const Tensor& get(std::string_view argument) const {
    require(tensor.has_value(), Status::NotInitialized,
            "{} was created but never set (fuseplanSet4dTensorDescriptor and others)", argument);
    return *tensor;
  }
};

struct ConvolutionObject {
  Conv conv{.pad_lo = {0, 0}, .pad_hi = {0, 0}, .stride = {1, 1}, .dilation = {1, 1}};
  int fp16_alternative = 0;
};

struct ActivationObject {
  Activation mode = Activation::PASTHRU;
  double alpha = 0, beta = 0, gamma = 0;
};

struct PlanObject {
  explicit PlanObject(Tensor input) : plan(std::move(input)) {}
  Plan plan;
  std::vector<fuseplanOp_t> ops;
  StringPool strings;  ///< of the structs that queries filled
};

struct OpObject {
  int index;
  const char* kind;
  bool needs_running;  ///< arguments must have a running mean and variance
};

struct ArgsObject {
  Args args;
};

template <typename C>
struct ObjectOf;
#define FUSEPLAN_OBJECT(tag_, c_type, object) \
  template <>                                 \
  struct ObjectOf<c_type> {                   \
    using Type = object;                      \
    static constexpr Tag kTag = Tag::tag_;    \
  };
#include "api/objects.def"
#undef FUSEPLAN_OBJECT

template <typename C>
Token token_of(C object) {
  return reinterpret_cast<Token>(object);
}

/// The object, kept alive until the end of the call; or Error(BadParm) naming the argument.
template <typename C>
Pinned<typename ObjectOf<C>::Type> pin(C object, std::string_view argument) {
  return Pinned<typename ObjectOf<C>::Type>(
      pin_object(token_of(object), ObjectOf<C>::kTag, argument));
}

template <typename C, typename... Arguments>
C create(Arguments&&... arguments) {
  using Object = typename ObjectOf<C>::Type;
  auto object = std::make_unique<Object>(std::forward<Arguments>(arguments)...);
  const auto deleter = [](void* memory) noexcept { delete static_cast<Object*>(memory); };
  return reinterpret_cast<C>(insert_object(ObjectOf<C>::kTag, object.release(), deleter));
}

template <typename C>
void destroy(C object, std::string_view argument) {
  destroy_object(token_of(object), ObjectOf<C>::kTag, argument);
}

inline Tensor tensor_of(fuseplanTensorDescriptor_t descriptor, std::string_view argument) {
  return pin(descriptor, argument)->get(argument);
}

}  // namespace fuseplan::api
