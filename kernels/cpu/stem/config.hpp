// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of a stem convolution.
struct StemConfig {
  int rows = 3, columns = 3;  ///< outputs of a tile
  int tiles = 4;              ///< that a kernel sums together
  bool operator==(const StemConfig&) const = default;
};

/// "3x3,tiles=4"
std::string to_text(const StemConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<StemConfig> parse_stem_config(std::string_view text);

}  // namespace fuseplan::cpu
