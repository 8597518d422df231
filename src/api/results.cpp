// SPDX-License-Identifier: MIT
#include "api/results.hpp"

namespace fuseplan::api {

void write_bytes(void* buffer, std::size_t* size, const void* bytes, std::size_t count) {
  required(size, "size");
  const std::size_t capacity = *size;
  *size = count;
  if (buffer == nullptr) return;
  require(capacity >= count, Status::InvalidValue, "{} bytes are needed, *size says {}", count,
          capacity);
  std::memcpy(buffer, bytes, count);
}

void write_text(char* text, std::size_t* size, std::string_view value) {
  const std::string terminated(value);
  write_bytes(text, size, terminated.c_str(), terminated.size() + 1);
}

void check_struct_size(std::size_t size, std::size_t first, std::string_view argument) {
  constexpr std::size_t kLargest = 65536;  // an unset structSize is rarely this small
  require(size >= first && size <= kLargest, Status::BadParm,
          "{}->structSize is {}, expected it to be set to sizeof of the struct ({} or more)",
          argument, size, first);
}

int count_to_write(int request_count, int* returned_count, std::size_t available, bool query_only) {
  required(returned_count, "returnedCount");
  require(request_count >= 0, Status::InvalidValue, "requestCount is {}, expected 0 or more",
          request_count);
  const int all = static_cast<int>(available);
  const int count = query_only || request_count == 0 ? 0 : std::min(request_count, all);
  *returned_count = query_only || request_count == 0 ? all : count;
  return count;
}

}  // namespace fuseplan::api
