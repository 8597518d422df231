// SPDX-License-Identifier: MIT
// Version, error text, logging.
#include <memory>

#include "api/guard.hpp"
#include "api/results.hpp"
#include "base/fork.hpp"
#include "base/log.hpp"
#include "fuseplan/handle.h"

namespace fuseplan::api {
namespace {

struct Callback {
  fuseplanLogCallback_t function;
  void* context;
};

void deliver(void* callback, LogLevel level, const char* line) {
  const auto& [function, context] = *static_cast<const Callback*>(callback);
  function(context, static_cast<fuseplanLogLevel_t>(level), line);
}

struct CallbackHolder {
  ForkedMutex mutex;
  std::unique_ptr<Callback> current;
};

// Leaked: destructors that run after main may still log.
CallbackHolder& callback_holder() {
  static CallbackHolder& instance = *new CallbackHolder;
  return instance;
}

}  // namespace
}  // namespace fuseplan::api

using namespace fuseplan;
using namespace fuseplan::api;

fuseplanStatus_t fuseplanGetVersion(size_t* major, size_t* minor, size_t* patch) {
  return guard(__func__, [&] {
    store(major, FUSEPLAN_VERSION_MAJOR);
    store(minor, FUSEPLAN_VERSION_MINOR);
    store(patch, FUSEPLAN_VERSION_PATCH);
  });
}

const char* fuseplanGetErrorString(fuseplanStatus_t error) {
  return status_name(static_cast<Status>(error));
}

const char* fuseplanGetLastErrorMessage(void) { return last_message(); }

fuseplanStatus_t fuseplanSetLogCallback(fuseplanLogCallback_t callback, void* context) {
  return guard(__func__, [&] {
    std::unique_ptr<Callback> next;
    if (callback != nullptr) next.reset(new Callback{callback, context});
    CallbackHolder& holder = callback_holder();
    const auto lock = holder.mutex.lock();
    // Returns when no call of the old sink is in progress, so that the old pair can go.
    set_log_sink(next ? deliver : nullptr, next.get());
    holder.current = std::move(next);
  });
}

fuseplanStatus_t fuseplanSetLogLevel(fuseplanLogLevel_t level) {
  return guard(__func__, [&] {
    require(level >= fuseplanLogDefault && level <= fuseplanLogTrace, Status::InvalidValue,
            "level is {}, expected 0 to 7", static_cast<int>(level));
    set_log_level(level == fuseplanLogDefault ? LogLevel::warning : static_cast<LogLevel>(level));
  });
}
