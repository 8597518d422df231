// SPDX-License-Identifier: MIT
#include "miopen/shape.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace fuseplan::miopen {
std::vector<std::size_t> packed_strides(const std::vector<std::size_t>& lens, bool channels_last) {
  std::vector<std::size_t> order(lens.size());  // innermost first
  std::iota(order.rbegin(), order.rend(), 0u);
  if (channels_last) std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  std::vector<std::size_t> strides(lens.size());
  std::size_t stride = 1;
  for (const std::size_t axis : order) {
    strides[axis] = stride;
    stride *= lens[axis];
  }
  return strides;
}

std::size_t Shape::elements() const {
  return std::accumulate(lens.begin(), lens.end(), std::size_t{1}, std::multiplies<>());
}

Shape shape_of(miopenTensorDescriptor_t descriptor, const char* argument) {
  require(descriptor != nullptr, miopenStatusBadParm, "{} is NULL", argument);
  const fuseplanTensorDescriptor_t tensor = fuseplan_of(descriptor);
  int rank = 0;
  fuseplanDataType_t type;
  check(fuseplanGetTensorDescriptorSize(tensor, &rank));
  Shape shape;
  shape.lens.resize(static_cast<std::size_t>(rank));
  shape.strides.resize(static_cast<std::size_t>(rank));
  check(fuseplanGetTensorDescriptorV2(tensor, &type, shape.lens.data(), shape.strides.data()));
  shape.type = static_cast<miopenDataType_t>(type);
  return shape;
}

bool same_memory(const Shape& a, const Shape& b) {
  if (a.type != b.type || a.lens != b.lens) return false;
  for (std::size_t axis = 0; axis < a.rank(); ++axis)
    if (a.lens[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  return true;
}

namespace {

const char* name_of(miopenDataType_t type) {
  switch (type) {
    case miopenFloat:
      return "f32";
    case miopenHalf:
      return "f16";
    case miopenBFloat16:
      return "bf16";
    case miopenInt8:
      return "i8";
    default:
      return nullptr;
  }
}

}  // namespace

const char* text_of(miopenDataType_t type) {
  const char* name = name_of(type);
  require(name != nullptr, miopenStatusUnsupportedOp,
          "data type {}: expected float, half, bfloat16 or int8", static_cast<int>(type));
  return name;
}

std::string text_of(const Shape& shape) {
  return fmt::format("{}:{}:s{}", text_of(shape.type), fmt::join(shape.lens, "x"),
                     fmt::join(shape.strides, ","));
}

std::string described(const Shape& shape) {
  const char* name = name_of(shape.type);
  return fmt::format("{}:{}:s{}",
                     name != nullptr ? name : fmt::format("type {}", static_cast<int>(shape.type)),
                     fmt::join(shape.lens, "x"), fmt::join(shape.strides, ","));
}

Shape packed_like(const Shape& like, const std::vector<std::size_t>& lens) {
  const bool channels_last =
      like.rank() >= 3 && like.strides != packed_strides(like.lens, false) &&
      same_memory(like, {like.type, like.lens, packed_strides(like.lens, true)});
  return {like.type, lens, packed_strides(lens, channels_last)};
}

Shape channel_vector(miopenDataType_t type, std::size_t channels, std::size_t rank) {
  std::vector<std::size_t> lens(rank, 1);
  lens[1] = channels;
  return {type, lens, packed_strides(lens, false)};
}

}  // namespace fuseplan::miopen
