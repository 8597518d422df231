// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "miopen/status.hpp"

// What MIOpen's tokens stand for. Tensor and activation descriptors are fuseplan's own tokens under
// another type; the rest, where MIOpen keeps more or promises less than fuseplan, are these.
namespace fuseplan::miopen {

struct Handle;
struct Convolution;
struct Pooling;
struct Plan;
struct OpHandle;
struct Args;

enum class Tag : unsigned { handle = 1, convolution, pooling, plan, op, args };

template <typename C>
struct ObjectOf;
#define FUSEPLAN_MIOPEN_OBJECT(c_type, object, tag_) \
  template <>                                        \
  struct ObjectOf<c_type> {                          \
    using Type = object;                             \
    static constexpr Tag kTag = Tag::tag_;           \
  };
FUSEPLAN_MIOPEN_OBJECT(miopenHandle_t, Handle, handle)
FUSEPLAN_MIOPEN_OBJECT(miopenConvolutionDescriptor_t, Convolution, convolution)
FUSEPLAN_MIOPEN_OBJECT(miopenPoolingDescriptor_t, Pooling, pooling)
FUSEPLAN_MIOPEN_OBJECT(miopenFusionPlanDescriptor_t, Plan, plan)
FUSEPLAN_MIOPEN_OBJECT(miopenFusionOpDescriptor_t, OpHandle, op)
FUSEPLAN_MIOPEN_OBJECT(miopenOperatorArgs_t, Args, args)
#undef FUSEPLAN_MIOPEN_OBJECT

/// Never 0 and never used twice.
using Token = std::uintptr_t;

Token insert_object(Tag tag, std::shared_ptr<void> object);
/// Throws Error(BadParm), naming `argument`, unless `token` is a live object of that type.
std::shared_ptr<void> find_object(Token token, Tag tag, std::string_view argument);
void erase_object(Token token, Tag tag, std::string_view argument);

template <typename C>
C publish(std::shared_ptr<typename ObjectOf<C>::Type> object) {
  return reinterpret_cast<C>(insert_object(ObjectOf<C>::kTag, std::move(object)));
}

/// The object, kept alive as long as the result.
template <typename C>
std::shared_ptr<typename ObjectOf<C>::Type> find(C object, std::string_view argument) {
  return std::static_pointer_cast<typename ObjectOf<C>::Type>(
      find_object(reinterpret_cast<Token>(object), ObjectOf<C>::kTag, argument));
}

/// Destroy(NULL) is allowed everywhere in MIOpen.
template <typename C>
void destroy(C object, std::string_view argument) {
  if (object != nullptr) erase_object(reinterpret_cast<Token>(object), ObjectOf<C>::kTag, argument);
}

inline fuseplanTensorDescriptor_t fuseplan_of(miopenTensorDescriptor_t descriptor) {
  return reinterpret_cast<fuseplanTensorDescriptor_t>(descriptor);
}
inline fuseplanActivationDescriptor_t fuseplan_of(miopenActivationDescriptor_t descriptor) {
  return reinterpret_cast<fuseplanActivationDescriptor_t>(descriptor);
}

}  // namespace fuseplan::miopen
