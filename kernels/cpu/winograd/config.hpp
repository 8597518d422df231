// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choice of a Winograd convolution.
struct WinogradConfig {
  std::int64_t tiles = 14;  ///< transformed together, at most: the weights are read once for them
  bool operator==(const WinogradConfig&) const = default;
};

/// "tiles=28"
std::string to_text(const WinogradConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<WinogradConfig> parse_winograd_config(std::string_view text);

}  // namespace fuseplan::cpu
