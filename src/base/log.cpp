// SPDX-License-Identifier: MIT
#include "base/log.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>

#include "base/environment.hpp"
#include "base/fork.hpp"

namespace fuseplan {
namespace {

void write_to_stderr(void*, LogLevel, const char* line) { std::fprintf(stderr, "%s\n", line); }

struct Logger {
  /// Where lines go. A new one is written beside the one in use: a child of fork finds either
  /// whole.
  struct Target {
    LogSink sink = nullptr;
    void* context = nullptr;
  };
  ForkedMutex mutex;
  Target targets[2];
  std::atomic<int> target{0};
  LogSink default_sink = nullptr;
  std::atomic<int> level{static_cast<int>(LogLevel::warning)};

  Logger() {
    const auto text = environment("FUSEPLAN_LOG_LEVEL");
    const auto parsed = text ? parse_log_level(*text) : std::nullopt;
    if (!parsed) return;  // creating a handle tells what is wrong
    level = static_cast<int>(*parsed);
    default_sink = write_to_stderr;
  }
};

// Leaked: messages may come from destructors that run after main.
Logger& logger() {
  static Logger& instance = *new Logger;
  return instance;
}

// Texts of other libraries may hold what would end or garble a line.
bool is_control(char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }

}  // namespace

void set_log_sink(LogSink sink, void* context) {
  const auto lock = logger().mutex.lock();
  const int other = 1 - logger().target;
  logger().targets[other] = {sink, context};
  logger().target = other;
}

void set_log_level(LogLevel level) { logger().level = static_cast<int>(level); }

std::optional<LogLevel> parse_log_level(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_level = error == std::errc{} && end == text.data() + text.size() && number >= 0 &&
                        number <= static_cast<int>(LogLevel::trace);
  if (!is_level) return std::nullopt;
  return number == 0 ? LogLevel::warning : static_cast<LogLevel>(number);
}

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) <= logger().level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view category, std::string_view text) noexcept try {
  std::string line = fmt::format("fuseplan_{},{}", category, text);
  std::ranges::replace_if(line, is_control, ' ');
  const auto lock = logger().mutex.lock();
  const auto& [sink, context] = logger().targets[logger().target];
  if (sink != nullptr) {
    sink(context, level, line.c_str());
  } else if (logger().default_sink != nullptr) {
    logger().default_sink(nullptr, level, line.c_str());
  }
} catch (...) {
  // A message that cannot be delivered must not become a failure of what it reports on.
}

}  // namespace fuseplan
