// SPDX-License-Identifier: MIT
#pragma once

#include "fuseplan/types.h"

namespace fuseplan::api {

/// Status of the exception being handled; its sentence becomes the thread's last message, behind
/// the name of the function that failed.
fuseplanStatus_t report_exception(const char* function);

/// The thread's last message. Never NULL.
const char* last_message() noexcept;

/// Every function of the C API runs its body in here: `return guard(__func__, [&] { ... });`
template <typename Body>
fuseplanStatus_t guard(const char* function, const Body& body) {
  try {
    body();
    return fuseplanStatusSuccess;
  } catch (...) {
    return report_exception(function);
  }
}

}  // namespace fuseplan::api
