// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/config.hpp"

#include <fmt/format.h>

#include <charconv>

namespace fuseplan::cpu {

std::string to_text(const GroupedConfig& config) {
  return fmt::format("{}x{},ahead={}", config.rows, config.columns, config.ahead);
}

std::optional<GroupedConfig> parse_grouped_config(std::string_view text) {
  GroupedConfig config;
  const char* end = text.data() + text.size();
  const auto number = [&](const char* at, int& value) {
    return std::from_chars(at, end, value).ptr;
  };
  const char* at = number(text.data(), config.rows);
  if (at != end) at = number(at + 1, config.columns);
  constexpr std::string_view kAhead = ",ahead=";
  if (std::string_view(at, end).starts_with(kAhead)) number(at + kAhead.size(), config.ahead);
  // Spelled back, so that one config has one text and bad numbers do not slip through.
  if (to_text(config) != text || config.rows < 1 || config.columns < 1 || config.ahead < 0)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
