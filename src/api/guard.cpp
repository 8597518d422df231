// SPDX-License-Identifier: MIT
#include "api/guard.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/status.hpp"

namespace fuseplan::api {
namespace {

// Plain bytes: telling about lack of memory takes no memory, and no destructor runs at thread exit.
thread_local char message[4096];

class Writer {
 public:
  Writer& operator<<(std::string_view text) {
    const std::size_t count = std::min(text.size(), sizeof message - 1 - used_);
    std::memcpy(message + used_, text.data(), count);
    used_ += count;
    message[used_] = '\0';
    return *this;
  }

 private:
  std::size_t used_ = 0;
};

// A log event is one line; a message may have one for each solver that declined.
void log_message() noexcept try {
  if (!log_enabled(LogLevel::info)) return;
  std::string line = message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  log_line(LogLevel::info, "api", line);
} catch (const std::bad_alloc&) {
  // The caller still gets its status.
}

fuseplanStatus_t record(Status status, const char* function, std::string_view sentence) {
  Writer() << function << ": " << sentence;
  log_message();
  return static_cast<fuseplanStatus_t>(status);
}

}  // namespace

const char* last_message() noexcept { return message; }

fuseplanStatus_t report_exception(const char* function) {
  try {
    throw;
  } catch (const Error& error) {
    return record(error.status(), function, error.what());
  } catch (const std::bad_alloc&) {
    return record(Status::AllocFailed, function, "out of memory");
  } catch (const std::exception& error) {
    return record(Status::InternalError, function, error.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled; swallowing this would end the process
  } catch (...) {
    return record(Status::UnknownError, function, "an exception of an unknown type");
  }
}

}  // namespace fuseplan::api
