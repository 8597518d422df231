// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace fuseplan {

/// MIOpen's numbers. A message is delivered when its level is at most the set one.
enum class LogLevel : int {
  quiet = 1,
  fatal = 2,
  error = 3,
  warning = 4,
  info = 5,
  info2 = 6,
  trace = 7
};

/// Receives one line without a newline. May be called from any thread, never from two at once.
using LogSink = void (*)(void* context, LogLevel level, const char* line);

/// nullptr restores the default: standard error if FUSEPLAN_LOG_LEVEL was a level when the library
/// was first used, otherwise nothing.
void set_log_sink(LogSink sink, void* context);
void set_log_level(LogLevel level);
/// What FUSEPLAN_LOG_LEVEL and MIOPEN_LOG_LEVEL may say: a number from 0 to 7, where 0 means
/// warnings, MIOpen's default. Nothing for any other text.
std::optional<LogLevel> parse_log_level(std::string_view text);
bool log_enabled(LogLevel level);
/// Writes "fuseplan_<category>,<text>", each control character as a space.
void log_line(LogLevel level, std::string_view category, std::string_view text) noexcept;

template <typename... Args>
void log(LogLevel level, std::string_view category, fmt::format_string<Args...> format,
         Args&&... args) {
  if (log_enabled(level))
    log_line(level, category, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace fuseplan
