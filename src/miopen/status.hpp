// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "fuseplan/fuseplan.h"
#include "fuseplan/miopen/miopen.h"

namespace fuseplan::miopen {

/// A status on its way to the caller, with the sentence fuseplanMiopenGetLastErrorMessage tells.
class Error : public std::runtime_error {
 public:
  Error(miopenStatus_t status, const std::string& sentence)
      : std::runtime_error(sentence), status_(status) {}
  miopenStatus_t status() const { return status_; }

 private:
  miopenStatus_t status_;
};

template <typename... Arguments>
[[noreturn]] void fail(miopenStatus_t status, fmt::format_string<Arguments...> format,
                       Arguments&&... arguments) {
  throw Error(status, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <typename... Arguments>
void require(bool condition, miopenStatus_t status, fmt::format_string<Arguments...> format,
             Arguments&&... arguments) {
  if (!condition) fail(status, format, std::forward<Arguments>(arguments)...);
}

/// A pointer the caller must give.
template <typename T>
T* required(T* pointer, const char* name) {
  require(pointer != nullptr, miopenStatusBadParm, "{} is NULL", name);
  return pointer;
}

/// Writes to a pointer the caller may leave out.
template <typename T, typename V>
void store(T* pointer, V value) {
  if (pointer != nullptr) *pointer = static_cast<T>(value);
}

/// Throws unless `status` is success: with fuseplan's sentence, and the status that MIOpen has for
/// it.
void check(fuseplanStatus_t status);

/// Writes the message of the exception in flight and returns its status.
miopenStatus_t report_exception(const char* function);
const char* last_message() noexcept;

/// The C edge: every exported function is guard(__func__, [&] { ... }).
template <typename Body>
miopenStatus_t guard(const char* function, const Body& body) {
  try {
    body();
    return miopenStatusSuccess;
  } catch (...) {
    return report_exception(function);
  }
}

}  // namespace fuseplan::miopen
