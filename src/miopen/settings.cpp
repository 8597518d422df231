// SPDX-License-Identifier: MIT
#include "miopen/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "miopen/status.hpp"

namespace fuseplan::miopen {
namespace {

void print_line(void*, fuseplanLogLevel_t, const char* line) { std::fprintf(stderr, "%s\n", line); }

std::string variable(const char* name) { return environment(name).value_or(""); }

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_on(std::string_view text) {
  return text == "1" || text == "on" || text == "ON" || text == "yes" || text == "true";
}

std::string find_mode(std::string_view text) {
  if (text == "1" || text == "NORMAL") return "normal";
  if (text == "2" || text == "FAST") return "fast";
  if (text == "3" || text == "HYBRID" || text == "5" || text == "DYNAMIC_HYBRID") return "hybrid";
  return {};
}

std::string tune_ms(std::string_view text) {
  const auto value = number(text);
  return value && *value >= 1 && *value <= 600000 ? std::to_string(*value) : std::string();
}

std::string cache_off(std::string_view text) { return is_on(text) ? "off" : std::string(); }

std::string any_text(std::string_view text) { return std::string(text); }

// MIOpen's variables with a counterpart: the option's value, or nothing if it is not understood.
constexpr struct Alias {
  const char* variable;
  const char* option;
  const char* own;  ///< fuseplan's variable, which wins
  std::string (*value)(std::string_view);
} kAliases[] = {
    {"MIOPEN_FIND_MODE", "find_mode", "FUSEPLAN_FIND_MODE", find_mode},
    {"MIOPEN_FIND_MODE_FUSION", "find_mode", "FUSEPLAN_FIND_MODE", find_mode},
    {"MIOPEN_TUNING_TIME_MS_MAX", "tune_ms", "FUSEPLAN_TUNE_MS", tune_ms},
    {"MIOPEN_DISABLE_CACHE", "cache", "FUSEPLAN_CACHE", cache_off},
    {"MIOPEN_CUSTOM_CACHE_DIR", "cache_dir", "FUSEPLAN_CACHE_DIR", any_text},
};

constexpr const char* kLogLevel = "MIOPEN_LOG_LEVEL";
constexpr const char* kDeterministic = "MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC";

// In either spelling of its key, with dashes or underscores.
bool is_flag(const char* option) {
  std::string flags = variable("FUSEPLAN_FLAGS");
  std::replace(flags.begin(), flags.end(), '-', '_');
  return flags.find(fmt::format("__{}=", option)) != flags.npos;
}

class Reader {
 public:
  Settings read() {
    log_level();
    Settings settings;
    settings.device = variable("FUSEPLAN_DEVICE");
    settings.refuse = is_on(variable("FUSEPLAN_COMPAT_REFUSE"));
    settings.quirks = variable("FUSEPLAN_COMPAT_QUIRKS") != "0";
    settings.deterministic = is_on(variable(kDeterministic));
    for (const Alias& alias : kAliases) settings.options += option(alias);
    for (char** entry = environ; *entry != nullptr; ++entry) note_ignored(*entry);
    return settings;
  }

 private:
  // fuseplan's own variable, where set, has decided already.
  void log_level() {
    const bool decided = environment("FUSEPLAN_LOG_LEVEL").has_value();
    const auto level = parse_log_level(variable(decided ? "FUSEPLAN_LOG_LEVEL" : kLogLevel));
    logging_ = level && *level >= LogLevel::warning;
    if (decided || !level) return;
    check(fuseplanSetLogLevel(static_cast<fuseplanLogLevel_t>(*level)));
    check(fuseplanSetLogCallback(print_line, nullptr));
  }

  static std::string option(const Alias& alias) {
    const std::string value = alias.value(variable(alias.variable));
    const bool decided = environment(alias.own).has_value() || is_flag(alias.option);
    if (value.empty() || decided) return {};
    return fmt::format("--{}={} ", alias.option, option_value(value));
  }

  void note_ignored(std::string_view entry) const {
    if (!logging_ || !entry.starts_with("MIOPEN_")) return;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (name == kLogLevel || name == kDeterministic) return;
    for (const Alias& alias : kAliases)
      if (name == alias.variable) return;
    print_line(nullptr, fuseplanLogWarning,
               fmt::format("fuseplan_miopen,ignored,variable={}", name).c_str());
  }

  bool logging_ = false;
};

}  // namespace

const Settings& settings() {
  static const Settings& instance = *new Settings(Reader().read());
  return instance;
}

}  // namespace fuseplan::miopen
