// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const WinogradConfig& config) {
  return fmt::format("{}x{},{}x{},tiles={}", config.rows, config.columns, config.pixels,
                     config.vectors, config.tiles);
}

std::optional<WinogradConfig> parse_winograd_config(std::string_view text) {
  std::string_view rest = text;
  WinogradConfig config;
  int tiles = 0;  // as an int: what does not fit one is no number of tiles
  if (!take(rest, "", config.rows) || !take(rest, "x", config.columns) ||
      !take(rest, ",", config.pixels) || !take(rest, "x", config.vectors) ||
      !take(rest, ",tiles=", tiles))
    return std::nullopt;
  config.tiles = tiles;
  if (to_text(config) != text ||
      std::min({config.rows, config.columns, config.pixels, config.vectors, tiles}) < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
