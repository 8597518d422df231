// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "fuseplan/cache.h"
#include "fuseplan/query.h"

// The idioms in which the C API takes pointers and gives back lists, text and growing structs.
namespace fuseplan::api {

/// `pointer`, or Error(BadParm) naming the argument.
template <typename T>
T* required(T* pointer, std::string_view argument) {
  require(pointer != nullptr, Status::BadParm, "{} is NULL", argument);
  return pointer;
}

/// Stores where the caller wants to know.
template <typename To, typename From>
void store(To* to, const From& value) {
  if (to != nullptr) *to = static_cast<To>(value);
}

void write_text(char* text, std::size_t* size, std::string_view value);
void write_bytes(void* buffer, std::size_t* size, const void* bytes, std::size_t count);

constexpr std::size_t padded(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// sizeof a growing struct when it was first published.
template <typename T>
inline constexpr std::size_t kFirstSize = 0;
#define FUSEPLAN_GROWING_STRUCT(type, last)       \
  template <>                                     \
  inline constexpr std::size_t kFirstSize<type> = \
      padded(offsetof(type, last) + sizeof(type::last), alignof(type));
#include "api/growing_structs.def"
#undef FUSEPLAN_GROWING_STRUCT

/// Throws unless `size` can be the size of a struct that had `first` bytes at first.
void check_struct_size(std::size_t size, std::size_t first, std::string_view argument);

/// The size that the program's struct says, which may have fewer members than T.
template <typename T>
std::size_t checked_size(const T* to, std::string_view argument) {
  static_assert(kFirstSize<T> > 0 && kFirstSize<T> <= sizeof(T), "see growing_structs.def");
  static_assert(offsetof(T, structSize) == 0);
  std::size_t size = 0;
  std::memcpy(&size, required(to, argument), sizeof size);
  check_struct_size(size, kFirstSize<T>, argument);
  return size;
}

/// `value` at `to`, as much of it as the program knows; the rest zero.
template <typename T>
void copy_struct(void* to, std::size_t size, T value) {
  value.structSize = size;
  std::memset(to, 0, size);
  std::memcpy(to, &value, std::min(size, sizeof(T)));
}

template <typename T>
void write_struct(T* to, const T& value, std::string_view argument) {
  copy_struct(to, checked_size(to, argument), value);
}

/// How many of `available` entries to write; stores what *returnedCount is to say.
int count_to_write(int request_count, int* returned_count, std::size_t available, bool query_only);

template <typename T>
void write_list(int request_count, int* returned_count, T* entries, const std::vector<T>& values) {
  const int count =
      count_to_write(request_count, returned_count, values.size(), entries == nullptr);
  std::copy_n(values.begin(), count, entries);
}

template <typename T>
void write_structs(int request_count, int* returned_count, T* entries, const std::vector<T>& values,
                   std::string_view argument) {
  const std::size_t stride =
      entries != nullptr && request_count > 0 ? checked_size(entries, argument) : 0;
  const int count =
      count_to_write(request_count, returned_count, values.size(), entries == nullptr);
  for (int i = 0; i < count; ++i)
    copy_struct(reinterpret_cast<char*>(entries) + static_cast<std::size_t>(i) * stride, stride,
                values[static_cast<std::size_t>(i)]);
}

}  // namespace fuseplan::api
