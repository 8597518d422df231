// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fuseplan {

/// Values equal MIOpen's miopenDataType_t. Kernels compute in f32 and store f16, bf16 or f32.
enum class DType : int { f16 = 0, f32 = 1, i32 = 2, i8 = 3, bf16 = 5, f64 = 6, i64 = 9 };

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

}  // namespace fuseplan
