// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fuseplan {

/// Values below 64 equal MIOpen's miopenDataType_t; ours start there.
enum class DType : int { f16 = 0, f32 = 1, i32 = 2, i8 = 3, bf16 = 5, f64 = 6, i64 = 9, u8 = 64 };

struct DTypeInfo {
  DType dtype;
  const char* name;
  std::size_t bytes;
};

/// Row of `dtype`, or nullptr for a number that names no type.
const DTypeInfo* find_dtype(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);
const char* name_of(DType dtype);
std::size_t size_of(DType dtype);

/// 8-bit integers: exact integer sums in a convolution, values in f32 behind it.
constexpr bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }
/// What parameters are stored in, and what kernels for real numbers read and write.
constexpr bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}
/// What data lies in: everything kernels read and write, computing in f32.
constexpr bool is_storage(DType dtype) { return is_real(dtype) || is_byte(dtype); }

}  // namespace fuseplan
