// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/pointwise/walk.hpp"

namespace fuseplan::cpu {

/// The tunable choices of a pass over memory. None changes a result.
struct PointwiseConfig {
  bool past_caches = false;  ///< how output is stored that is another buffer than the input
  /// Lanes at a time where rows are short or of several layouts (see joined_rows); 0
  /// where whole rows are taken as they are.
  std::int64_t lanes = 0;
  bool operator==(const PointwiseConfig&) const = default;
};

/// "cached", "past", "cached,lanes=512"
std::string to_text(const PointwiseConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<PointwiseConfig> parse_pointwise_config(std::string_view text);

/// The tuning space; the first is the default. `keeps_output`: SplitChain's.
std::vector<PointwiseConfig> pointwise_configs(const Walk& walk, bool keeps_output,
                                               const CoreRates& rates);

/// How many rows to join to one of up to that many lanes: enough that a row is at least a vector
/// and its cost vanishes, and whole cache lines together, so that all of them are aligned alike. 0:
/// none, not even one.
std::int64_t joined_rows(const Walk& walk, std::int64_t lanes);

}  // namespace fuseplan::cpu
