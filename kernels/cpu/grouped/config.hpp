// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of a grouped convolution: the outputs that stay in registers at a time.
struct GroupedConfig {
  int rows = 1;     ///< output rows
  int columns = 1;  ///< output columns; vectors of them if columns are lanes
  /// If channels are lanes: prefetches what the tile below will read to the second-level cache.
  bool ahead = false;
  bool operator==(const GroupedConfig&) const = default;
};

/// "4x5", "4x5,ahead"
std::string to_text(const GroupedConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<GroupedConfig> parse_grouped_config(std::string_view text);

}  // namespace fuseplan::cpu
