// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/containers.hpp"
#include "base/dtype.hpp"

namespace fuseplan {

/// How a tensor's dimensions lie in memory, read off its strides. Layouts are carried by strides
/// alone; lengths are always in N, C, [D,] H, W order.
enum class Layout {
  channels_first,  ///< packed NCHW / NCDHW
  channels_last,   ///< packed NHWC / NDHWC
  strided,         ///< anything else
};

/// Type, lengths and strides (in elements) of a tensor. A value: cheap to copy, comparable.
struct Tensor {
  DType dtype = DType::f32;
  Dims lens;
  Dims strides;

  int rank() const { return static_cast<int>(lens.size()); }
  int spatial() const { return rank() - 2; }  ///< number of spatial axes, at the back
  std::int64_t elements() const;
  /// Bytes from the first to one past the last element: size * (1 + sum (len - 1) * stride).
  std::size_t bytes() const;
  Layout layout() const;
  bool operator==(const Tensor&) const = default;
};

/// Packed strides of `lens` in `layout` (not `strided`).
Dims packed_strides(const Dims& lens, Layout layout);
Tensor packed(DType dtype, const Dims& lens, Layout layout);

/// Same type and layout class with other lengths: packed stays packed; strides of a strided tensor
/// keep their order from outer to inner and become packed in that order.
Tensor with_lens(const Tensor& like, const Dims& lens);

/// Throws Error(BadParm) unless kernels can read and write the tensor's type.
void require_storage(const Tensor& tensor, std::string_view what);

/// The tensor as what is computed over one of its type: f32 for 8-bit integers, else the same.
Tensor computed(Tensor tensor);

/// Throws Error(BadParm) unless rank is 1..kMaxRank, lengths and strides are positive, and bytes()
/// and elements() fit in 63 bits. `what` names the tensor in the message.
void validate(const Tensor& tensor, std::string_view what);

/// "f32:1x64x56x56:nhwc"; strided tensors spell their strides: "f32:1x8x4x4:s200,25,6,1".
std::string to_text(const Tensor& tensor);
Tensor parse_tensor(std::string_view text);

std::string dims_text(const Dims& dims, char separator = 'x');
Dims parse_dims(std::string_view text, char separator = 'x');

}  // namespace fuseplan
