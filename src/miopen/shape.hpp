// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "miopen/objects.hpp"

namespace fuseplan::miopen {

/// What a tensor descriptor says, copied.
struct Shape {
  miopenDataType_t type = miopenFloat;
  std::vector<std::size_t> lens, strides;

  std::size_t rank() const { return lens.size(); }
  std::size_t elements() const;
};

Shape shape_of(miopenTensorDescriptor_t descriptor, const char* argument);

/// Same type and lengths, and every element at the same place: strides of lengths 1 say nothing.
bool same_memory(const Shape& a, const Shape& b);
/// "f32:1x64x56x56:s200704,3136,56,1", as plans have it. Throws Error(UnsupportedOp) for a type
/// that no plan computes with.
std::string text_of(const Shape& shape);
const char* text_of(miopenDataType_t type);
/// The same for a message, whatever the type.
std::string described(const Shape& shape);

std::vector<std::size_t> packed_strides(const std::vector<std::size_t>& lens,
                                        bool channels_last = false);
/// Packed, channels innermost if `like` has them so.
Shape packed_like(const Shape& like, const std::vector<std::size_t>& lens);
/// 1 x C x 1 ..., packed.
Shape channel_vector(miopenDataType_t type, std::size_t channels, std::size_t rank);

}  // namespace fuseplan::miopen
