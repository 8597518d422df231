// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/half.hpp"
#include "miopen/handle.hpp"

// What fuseplan has no op for, as plain loops over any strides: softmax, pooling, and the products
// and extrema of OpTensor. Arithmetic is in f32.
namespace fuseplan::miopen {

struct F32 {
  float value;
  operator float() const { return value; }
  static F32 of(float x) { return {x}; }
};
struct BF16 {
  std::uint16_t bits;
  operator float() const { return bf16_to_float(bits); }
  static BF16 of(float x) { return {float_to_bf16(x)}; }
};
struct F16 {
  std::uint16_t bits;
  operator float() const { return f16_to_float(bits); }
  static F16 of(float x) { return {float_to_f16(x)}; }
};

/// body(T*) with T the storage of `type`. Throws Error(BadParm) for other types.
template <typename Body>
void with_storage(miopenDataType_t type, const Body& body) {
  switch (type) {
    case miopenFloat:
      return body(static_cast<F32*>(nullptr));
    case miopenHalf:
      return body(static_cast<F16*>(nullptr));
    case miopenBFloat16:
      return body(static_cast<BF16*>(nullptr));
    default:
      fail(miopenStatusBadParm, "data type {}: expected float, half or bfloat16",
           static_cast<int>(type));
  }
}

/// y = alpha * value + beta * y, not reading y for beta 0.
struct Blend {
  float alpha, beta;
  template <typename T>
  void store(T& y, float value) const {
    y = T::of(beta == 0 ? alpha * value : alpha * value + beta * static_cast<float>(y));
  }
};

/// task(i) for each i in [0, count), on the handle's threads where `work` element operations are
/// worth them. Keeps the time if the handle profiles.
void run_loop(Handle& handle, std::int64_t count, std::int64_t work,
              void (*task)(void*, std::int64_t), void* context);
template <typename Task>
void run_loop(Handle& handle, std::int64_t count, std::int64_t work, const Task& task) {
  run_loop(
      handle, count, work,
      [](void* context, std::int64_t i) { (*static_cast<const Task*>(context))(i); },
      const_cast<void*>(static_cast<const void*>(&task)));
}

/// Offset of element number `index` of `lens`, last axis fastest, in a tensor of these strides.
std::size_t offset_of(std::size_t index, const std::vector<std::size_t>& lens,
                      const std::vector<std::size_t>& strides);

/// What alpha and beta point to.
inline float scalar(const void* pointer, float otherwise) {
  return pointer == nullptr ? otherwise : *static_cast<const float*>(pointer);
}

/// One value of `type`, as SetTensor and ScaleTensor are given it.
inline float scalar_of(miopenDataType_t type, const void* pointer) {
  float value = 0;
  with_storage(type, [&]<typename T>(T*) { value = *static_cast<const T*>(pointer); });
  return value;
}

}  // namespace fuseplan::miopen
