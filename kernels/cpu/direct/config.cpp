// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/config.hpp"

#include <fmt/format.h>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const DirectConfig& config) {
  return fmt::format("{}x{},block={},chunk={},staged={}{}", config.pixels, config.vectors,
                     config.block, config.chunk, config.staged ? 1 : 0,
                     config.pairs ? ",pairs=1" : "");
}

std::optional<DirectConfig> parse_direct_config(std::string_view text) {
  std::string_view rest = text;
  std::int64_t pixels = 0, vectors = 0, block = 0, chunk = 0, staged = 0, pairs = 0;
  if (!take(rest, "", pixels) || !take(rest, "x", vectors) || !take(rest, ",block=", block) ||
      !take(rest, ",chunk=", chunk) || !take(rest, ",staged=", staged))
    return std::nullopt;
  take(rest, ",pairs=", pairs);
  const DirectConfig config{
      static_cast<int>(pixels), static_cast<int>(vectors), block, chunk, staged == 1, pairs == 1};
  if (to_text(config) != text || pixels < 1 || vectors < 1 || block < 1 || chunk < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
