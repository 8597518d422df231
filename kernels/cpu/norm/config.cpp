// SPDX-License-Identifier: MIT
#include "kernels/cpu/norm/config.hpp"

#include <fmt/format.h>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const NormConfig& config) {
  return fmt::format("{},{}", config.kept, config.past_caches ? "past" : "cached");
}

std::optional<NormConfig> parse_norm_config(std::string_view text) {
  NormConfig config;
  std::string_view rest = text;
  if (!take(rest, "", config.kept)) return std::nullopt;
  config.past_caches = rest == ",past";
  if (to_text(config) != text || config.kept < 1) return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
