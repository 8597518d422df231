// SPDX-License-Identifier: MIT
#include "api/guard.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "base/failure.hpp"
#include "base/log.hpp"

namespace fuseplan::api {
namespace {

thread_local LastMessage message;

// A log event is one line; a message may have one for each solver that declined.
void log_message() noexcept try {
  if (!log_enabled(LogLevel::info)) return;
  std::string line = message.text();
  std::replace(line.begin(), line.end(), '\n', ' ');
  log_line(LogLevel::info, "api", line);
} catch (const std::bad_alloc&) {
  // The caller still gets its status.
}

}  // namespace

const char* last_message() noexcept { return message.text(); }

fuseplanStatus_t report_exception(const char* function) {
  const Failure failure = current_failure();
  message.write(function, failure.sentence);
  log_message();
  return static_cast<fuseplanStatus_t>(failure.status);
}

}  // namespace fuseplan::api
