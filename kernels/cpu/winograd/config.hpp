// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of a Winograd convolution.
struct WinogradConfig {
  int rows = 4, columns = 4;     ///< outputs of a tile: an axis exists for each, see axis.hpp
  int pixels = 14, vectors = 2;  ///< register tile of the products: tiles x output channels
  std::int64_t tiles = 14;       ///< transformed together, at most: weights are read once for them
  bool operator==(const WinogradConfig&) const = default;
};

/// "4x4,14x2,tiles=28"
std::string to_text(const WinogradConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<WinogradConfig> parse_winograd_config(std::string_view text);

}  // namespace fuseplan::cpu
