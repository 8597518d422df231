// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of an 8-bit convolution.
struct ByteConfig {
  int pixels = 14;         ///< of a tile, at most
  int vectors = 2;         ///< of output channels in a tile
  std::int64_t block = 0;  ///< output pixels whose input is kept near while channels change
  bool operator==(const ByteConfig&) const = default;
};

/// "14x2,block=784"
std::string to_text(const ByteConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<ByteConfig> parse_byte_config(std::string_view text);

}  // namespace fuseplan::cpu
