// SPDX-License-Identifier: MIT
#include "base/dtype.hpp"

#include "base/status.hpp"

namespace fuseplan {
namespace {

constexpr DTypeInfo kDTypes[] = {
    {DType::f16, "f16", 2},   {DType::f32, "f32", 4}, {DType::i32, "i32", 4}, {DType::i8, "i8", 1},
    {DType::bf16, "bf16", 2}, {DType::f64, "f64", 8}, {DType::i64, "i64", 8}, {DType::u8, "u8", 1},
};

const DTypeInfo& row(DType dtype) {
  const DTypeInfo* info = find_dtype(dtype);
  require(info != nullptr, Status::BadParm, "data type {} is not one of fuseplanDataType_t",
          static_cast<int>(dtype));
  return *info;
}

}  // namespace

const DTypeInfo* find_dtype(DType dtype) {
  for (const DTypeInfo& info : kDTypes)
    if (info.dtype == dtype) return &info;
  return nullptr;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& info : kDTypes)
    if (info.name == name) return info.dtype;
  return std::nullopt;
}

const char* name_of(DType dtype) { return row(dtype).name; }
std::size_t size_of(DType dtype) { return row(dtype).bytes; }

}  // namespace fuseplan
