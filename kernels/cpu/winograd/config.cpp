// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/config.hpp"

#include <fmt/format.h>

#include <charconv>

namespace fuseplan::cpu {

std::string to_text(const WinogradConfig& config) { return fmt::format("tiles={}", config.tiles); }

std::optional<WinogradConfig> parse_winograd_config(std::string_view text) {
  constexpr std::string_view kKey = "tiles=";
  if (!text.starts_with(kKey)) return std::nullopt;
  WinogradConfig config;
  std::from_chars(text.data() + kKey.size(), text.data() + text.size(), config.tiles);
  // Spelled back, so that one config has one text and bad numbers do not slip through.
  if (to_text(config) != text || config.tiles < 1) return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
