// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of a direct convolution.
struct DirectConfig {
  int pixels = 14;         ///< of a tile, at most
  int vectors = 2;         ///< of output channels in a tile
  std::int64_t block = 0;  ///< output pixels whose input is kept near while channels change
  std::int64_t chunk = 0;  ///< input channels summed before the next tile
  bool staged = false;     ///< copy a block's input to scratch first
  bool pairs = false;      ///< multiply pairs of bf16 channels as they are; else widen to f32
  bool operator==(const DirectConfig&) const = default;
};

/// "14x2,block=784,chunk=256,staged=0", and ",pairs=1" behind it where that is so
std::string to_text(const DirectConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<DirectConfig> parse_direct_config(std::string_view text);

}  // namespace fuseplan::cpu
