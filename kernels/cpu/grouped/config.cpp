// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/config.hpp"

#include <fmt/format.h>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::string_view kAhead = ",ahead";

}  // namespace

std::string to_text(const GroupedConfig& config) {
  return fmt::format("{}x{}{}", config.rows, config.columns, config.ahead ? kAhead : "");
}

std::optional<GroupedConfig> parse_grouped_config(std::string_view text) {
  std::string_view rest = text;
  GroupedConfig config;
  if (!take(rest, "", config.rows) || !take(rest, "x", config.columns)) return std::nullopt;
  config.ahead = rest == kAhead;
  if (to_text(config) != text || config.rows < 1 || config.columns < 1) return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
