// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "base/status.hpp"
#include "fuseplan/fuseplan.h"
#include "fuseplan/miopen/miopen.h"

namespace fuseplan::miopen {

// Statuses on their way to the caller have MIOpen's numbers, which are fuseplan's as well.
using fuseplan::Error;
using fuseplan::Status;

template <typename... Arguments>
[[noreturn]] void fail(miopenStatus_t status, fmt::format_string<Arguments...> format,
                       Arguments&&... arguments) {
  fuseplan::fail(static_cast<Status>(status), format, std::forward<Arguments>(arguments)...);
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

/// Status of the exception being handled; its sentence becomes what
/// fuseplanMiopenGetLastErrorMessage tells.
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
