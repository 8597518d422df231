// SPDX-License-Identifier: MIT
#include "miopen/status.hpp"

#include <cxxabi.h>

#include <new>

namespace fuseplan::miopen {
namespace {

// Plain bytes: telling about lack of memory takes no memory, and no destructor runs at thread exit.
thread_local char message[4096];

miopenStatus_t record(miopenStatus_t status, const char* function, const char* sentence) {
  const auto end = fmt::format_to_n(message, sizeof message - 1, "{}: {}", function, sentence).out;
  *end = '\0';
  return status;
}

miopenStatus_t translated(fuseplanStatus_t status) {
  switch (status) {
    case fuseplanStatusNotInitialized:  // a descriptor that was never set
    case fuseplanStatusNotCompiled:
      return miopenStatusBadParm;
    case fuseplanStatusBadOption:
      return miopenStatusInvalidValue;
    case fuseplanStatusForked:
      return miopenStatusInternalError;
    default:
      return static_cast<miopenStatus_t>(status);
  }
}

}  // namespace

void check(fuseplanStatus_t status) {
  if (status != fuseplanStatusSuccess)
    throw Error(translated(status), fuseplanGetLastErrorMessage());
}

const char* last_message() noexcept { return message; }

miopenStatus_t report_exception(const char* function) {
  try {
    throw;
  } catch (const Error& error) {
    return record(error.status(), function, error.what());
  } catch (const std::bad_alloc&) {
    return record(miopenStatusAllocFailed, function, "out of memory");
  } catch (const std::exception& error) {
    return record(miopenStatusInternalError, function, error.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled; swallowing this would end the process
  } catch (...) {
    return record(miopenStatusUnknownError, function, "an exception of an unknown type");
  }
}

/// For stubs.cpp.
miopenStatus_t not_implemented(const char* function);
miopenStatus_t not_implemented(const char* function) {
  return record(miopenStatusNotImplemented, function, "fuseplan does not do this");
}

}  // namespace fuseplan::miopen
