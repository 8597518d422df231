// SPDX-License-Identifier: MIT
#include "kernels/cpu/grouped/config.hpp"

#include <fmt/format.h>

#include <charconv>

namespace fuseplan::cpu {

std::string to_text(const GroupedConfig& config) {
  return fmt::format("{}x{}", config.rows, config.columns);
}

std::optional<GroupedConfig> parse_grouped_config(std::string_view text) {
  GroupedConfig config;
  const char* end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, config.rows);
  if (rows.ec != std::errc{} || rows.ptr == end) return std::nullopt;
  const auto columns = std::from_chars(rows.ptr + 1, end, config.columns);
  // Spelled back, so that one config has one text.
  if (columns.ec != std::errc{} || to_text(config) != text) return std::nullopt;
  if (config.rows < 1 || config.columns < 1) return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
