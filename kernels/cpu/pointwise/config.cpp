// SPDX-License-Identifier: MIT
#include "kernels/cpu/pointwise/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/integer.hpp"
#include "kernels/cpu/config_text.hpp"
#include "kernels/cpu/streaming.hpp"

namespace fuseplan::cpu {
namespace {

/// Traffic of a launch from which on storing past the caches is faster even where they could hold
/// the output: it leaves them to the input, and fetches no line only to overwrite it.
constexpr std::int64_t kMuchTraffic = 8 << 20;

constexpr std::string_view kCached = "cached", kPast = "past";

/// Stores past the caches want whole cache lines: rows that touch, or so long that their ends are
/// rare. From kFarBytes of traffic on they may be worth it.
bool may_store_past(const Walk& walk) {
  constexpr std::int64_t kLongRow = 2048;
  if (walk.is_strided()) return false;  // pieces of rows
  const bool lines = walk.touching || walk.rows.len == 1 || walk.lanes.len >= kLongRow;
  return lines && walk.bytes() >= kFarBytes;
}

/// Where the third-level cache is hardly nearer than memory, such stores leave the second level to
/// an input that fits there beside nothing else (na1 of miopen-docs-na.csv, 1.6 MB to 1.6 MB, 95 to
/// 77 us on a core with 2 MB), and what bandwidth there is to reading (na2 and na5 at batch 16, 6
/// MB to 6 MB, 0.85 to 0.93 of the time; na6, 26 MB to 26 MB, 0.6).
bool storing_past_pays(std::int64_t bytes, const CoreRates& rates) {
  return !rates.third_level_is_near() || bytes >= kMuchTraffic;
}

/// Where a tensor is in another layout, each lane of it is a line that the rows which follow read
/// again: so many lanes that the first-level cache keeps those lines. 4 images of 512 channels at
/// 28 x 28 pixels from NHWC to NCHW took 0.8 ms by 16 lanes and 4 by 64, which meet in 2 of its 64
/// sets.
std::int64_t kept_lanes(const Walk& walk) {
  constexpr std::int64_t kLineBytes = 64, kSets = 64, kLinesOfSet = 4, kFewest = 16, kMost = 128;
  std::int64_t piece = walk.lanes.len;
  for (std::size_t t = 0; t < walk.dtypes.size(); ++t) {
    const std::int64_t stride = t == Walk::kChannel ? 0 : walk.lane_stride(t);
    if (stride == 0) continue;
    const std::int64_t lines = stride / kLineBytes;
    const std::int64_t sets = stride % kLineBytes == 0 ? kSets / std::gcd(kSets, lines) : kSets;
    const std::int64_t kept =
        stride < kLineBytes ? kMost * kLineBytes / stride : std::min(kMost, sets * kLinesOfSet);
    piece = std::min(piece, std::max(kept, kFewest));
  }
  return piece;
}

/// The first is the default.
std::vector<std::int64_t> lane_counts(const Walk& walk) {
  std::vector<std::int64_t> counts;
  if (walk.is_strided()) {
    const std::int64_t kept = kept_lanes(walk);
    counts.push_back(kept);
    if (kept >= 32) counts.push_back(kept / 2);
    if (kept < walk.lanes.len) counts.push_back(std::min(2 * kept, walk.lanes.len));
  } else {
    // Rows of 512 lanes have a cost that vanishes, and values of channels that leave most of the
    // first-level cache to the tensors.
    std::vector<std::int64_t> joined;
    for (const std::int64_t lanes : {512, 256, 1024}) {
      const std::int64_t rows = joined_rows(walk, lanes);
      if (rows == 0) return {0};
      if (std::ranges::find(joined, rows) != joined.end()) continue;
      joined.push_back(rows);
      counts.push_back(lanes);
    }
  }
  return counts;
}

}  // namespace

std::string to_text(const PointwiseConfig& config) {
  const std::string_view stores = config.past_caches ? kPast : kCached;
  return config.lanes == 0 ? std::string(stores) : fmt::format("{},lanes={}", stores, config.lanes);
}

std::optional<PointwiseConfig> parse_pointwise_config(std::string_view text) {
  PointwiseConfig config;
  config.past_caches = text.starts_with(kPast);
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.find(','), rest.size()));
  if (!rest.empty() && !take(rest, ",lanes=", config.lanes)) return std::nullopt;
  if (to_text(config) != text || config.lanes < 0) return std::nullopt;
  return config;
}

std::vector<PointwiseConfig> pointwise_configs(const Walk& walk, bool keeps_output,
                                               const CoreRates& rates) {
  const bool may_choose = may_store_past(walk) && !keeps_output;
  const bool past = may_choose && storing_past_pays(walk.bytes(), rates);
  std::vector<PointwiseConfig> configs;
  for (const std::int64_t lanes : lane_counts(walk)) configs.push_back({past, lanes});
  const std::size_t counts = configs.size();
  for (std::size_t i = 0; may_choose && i < counts; ++i)
    configs.push_back({!past, configs[i].lanes});
  return configs;
}

std::int64_t joined_rows(const Walk& walk, std::int64_t most_lanes) {
  constexpr std::int64_t kLine = 16;  // floats
  if (!walk.touching || !walk.lanes_are_channels) return 0;
  const std::int64_t lanes = walk.lanes.len, unit = kLine / std::gcd(lanes, kLine);
  const std::int64_t least = ceil_div(kLine, lanes), most = most_lanes / lanes;
  const std::int64_t rows = std::max(std::min(most, walk.rows.len / 4), least);
  return std::min(rows > unit ? rows / unit * unit : rows, walk.rows.len);
}

}  // namespace fuseplan::cpu
