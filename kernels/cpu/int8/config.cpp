// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/config.hpp"

#include <fmt/format.h>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const ByteConfig& config) {
  return fmt::format("{}x{},block={}", config.pixels, config.vectors, config.block);
}

std::optional<ByteConfig> parse_byte_config(std::string_view text) {
  std::string_view rest = text;
  ByteConfig config;
  if (!take(rest, "", config.pixels) || !take(rest, "x", config.vectors) ||
      !take(rest, ",block=", config.block))
    return std::nullopt;
  if (to_text(config) != text || config.pixels < 1 || config.vectors < 1 || config.block < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
