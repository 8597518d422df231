// SPDX-License-Identifier: MIT
#include "api/guard.hpp"

#include "base/failure.hpp"
#include "base/log.hpp"

namespace fuseplan::api {
namespace {

thread_local LastMessage message;

}  // namespace

const char* last_message() noexcept { return message.text(); }

fuseplanStatus_t report_exception(const char* function) {
  const Failure failure = current_failure();
  message.write(function, failure.sentence);
  if (log_enabled(LogLevel::info)) log_line(LogLevel::info, "api", message.text());
  return static_cast<fuseplanStatus_t>(failure.status);
}

}  // namespace fuseplan::api
