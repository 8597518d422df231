// SPDX-License-Identifier: MIT
#include "miopen/status.hpp"

#include "base/failure.hpp"

namespace fuseplan::miopen {
namespace {

thread_local LastMessage message;

Status translated(fuseplanStatus_t status) {
  switch (status) {
    case fuseplanStatusNotInitialized:  // a descriptor that was never set
    case fuseplanStatusNotCompiled:
      return Status::BadParm;
    case fuseplanStatusBadOption:
      return Status::InvalidValue;
    case fuseplanStatusForked:
      return Status::InternalError;
    default:
      return static_cast<Status>(status);
  }
}

}  // namespace

void check(fuseplanStatus_t status) {
  if (status != fuseplanStatusSuccess)
    throw Error(translated(status), fuseplanGetLastErrorMessage());
}

const char* last_message() noexcept { return message.text(); }

miopenStatus_t report_exception(const char* function) {
  const Failure failure = current_failure();
  message.write(function, failure.sentence);
  return static_cast<miopenStatus_t>(failure.status);
}

/// For stubs.cpp.
miopenStatus_t not_implemented(const char* function);
miopenStatus_t not_implemented(const char* function) {
  return guard(function, [] { fail(miopenStatusNotImplemented, "fuseplan does not do this"); });
}

}  // namespace fuseplan::miopen
