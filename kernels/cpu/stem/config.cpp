// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/config.hpp"

#include <fmt/format.h>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const StemConfig& config) {
  return fmt::format("{}x{},tiles={}", config.rows, config.columns, config.tiles);
}

std::optional<StemConfig> parse_stem_config(std::string_view text) {
  StemConfig config;
  std::string_view rest = text;
  if (!take(rest, "", config.rows) || !take(rest, "x", config.columns) ||
      !take(rest, ",tiles=", config.tiles))
    return std::nullopt;
  if (to_text(config) != text || config.rows < 1 || config.columns < 1 || config.tiles < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
