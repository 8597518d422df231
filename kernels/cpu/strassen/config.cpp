// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const StrassenConfig& config) {
  return fmt::format("{}:{}x{},block={},staged={}", config.by_channel ? "channels" : "pixels",
                     config.rows, config.vectors, config.block, config.staged ? 1 : 0);
}

std::optional<StrassenConfig> parse_strassen_config(std::string_view text) {
  StrassenConfig config;
  config.by_channel = text.starts_with("channels");
  std::string_view rest = text.substr(std::min(text.find(':'), text.size()));
  int staged = 0;
  if (!take(rest, ":", config.rows) || !take(rest, "x", config.vectors) ||
      !take(rest, ",block=", config.block) || !take(rest, ",staged=", staged))
    return std::nullopt;
  config.staged = staged == 1;
  if (to_text(config) != text || config.rows < 1 || config.vectors < 1 || config.block < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
