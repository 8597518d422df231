// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/config_text.hpp"

namespace fuseplan::cpu {

std::string to_text(const Conv1x1Config& config) {
  const std::string images = config.images > 1 ? fmt::format(",images={}", config.images) : "";
  return fmt::format("{}:{}x{},block={},staged={}{}", config.by_channel ? "channels" : "pixels",
                     config.rows, config.vectors, config.block, config.staged ? 1 : 0, images);
}

std::optional<Conv1x1Config> parse_conv1x1_config(std::string_view text) {
  Conv1x1Config config;
  config.by_channel = text.starts_with("channels");
  std::string_view rest = text.substr(std::min(text.find(':'), text.size()));
  int staged = 0;
  if (!take(rest, ":", config.rows) || !take(rest, "x", config.vectors) ||
      !take(rest, ",block=", config.block) || !take(rest, ",staged=", staged))
    return std::nullopt;
  config.staged = staged == 1;
  if (!rest.empty() && !take(rest, ",images=", config.images)) return std::nullopt;
  if (to_text(config) != text || config.rows < 1 || config.vectors < 1 || config.block < 1 ||
      (config.images > 1 && !config.staged))
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
