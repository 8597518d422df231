// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>

namespace fuseplan {

enum class Status : int {
#define FUSEPLAN_STATUS(name, value, sentence) name = value,
#include "base/statuses.def"
#undef FUSEPLAN_STATUS
};

/// "fuseplanStatusBadParm"; "Unknown error status" for a number that is none of ours. Never NULL.
const char* status_name(Status status);

/// The only exception the library throws on purpose: a status and a sentence that says what was
/// wrong and what was expected. The C edge turns it into the status and the thread's last message.
class Error : public std::exception {
 public:
  Error(Status status, std::string message) : status_(status), message_(std::move(message)) {}
  Status status() const { return status_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Status status_;
  std::string message_;
};

template <typename... Args>
[[noreturn]] void fail(Status status, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(status, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void require(bool condition, Status status, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(status, format, std::forward<Args>(args)...);
}

}  // namespace fuseplan
