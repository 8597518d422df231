// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of batch normalisation with sums over the batch.
struct NormConfig {
  /// What the first pass may read of a group of channels so that the second finds it in a core's
  /// second-level cache, in KB. It decides into how many parts a channel's samples are summed, and
  /// so how the sums are rounded.
  std::int64_t kept = 384;
  bool past_caches = false;  ///< how the second pass stores, unless it replaces its input
  bool operator==(const NormConfig&) const = default;
};

/// "384,cached", "768,past"
std::string to_text(const NormConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<NormConfig> parse_norm_config(std::string_view text);

}  // namespace fuseplan::cpu
