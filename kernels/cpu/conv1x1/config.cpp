// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace fuseplan::cpu {

std::string to_text(const Conv1x1Config& config) {
  return fmt::format("{}:{}x{},block={},staged={}", config.by_channel ? "channels" : "pixels",
                     config.rows, config.vectors, config.block, config.staged ? 1 : 0);
}

std::optional<Conv1x1Config> parse_conv1x1_config(std::string_view text) {
  Conv1x1Config config;
  config.by_channel = text.starts_with("channels");
  const std::string numbers(text.substr(std::min(text.find(':'), text.size())));
  long long block = 0;
  int staged = 0;
  if (std::sscanf(numbers.c_str(), ":%dx%d,block=%lld,staged=%d", &config.rows, &config.vectors,
                  &block, &staged) != 4)
    return std::nullopt;
  config.block = block;
  config.staged = staged == 1;
  // Spelled back, so that one config has one text and bad numbers do not slip through.
  if (to_text(config) != text || config.rows < 1 || config.vectors < 1 || config.block < 1)
    return std::nullopt;
  return config;
}

}  // namespace fuseplan::cpu
