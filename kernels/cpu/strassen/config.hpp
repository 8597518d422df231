// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of a convolution by Strassen's products.
struct StrassenConfig {
  bool by_channel = true;  ///< a kernel's vectors hold output channels; otherwise pixels
  int rows = 14;           ///< of a product, at most; of pixels if by channel, else of channels
  int vectors = 2;         ///< of a product, at most
  std::int64_t block = 0;  ///< output pixels that all output channels are computed of, in turn
  /// All factors of the input are made before products are; otherwise those that are the input
  /// itself are read where they lie, and of pixels in vectors the others are made in passing.
  bool staged = true;
  bool operator==(const StrassenConfig&) const = default;
};

/// "channels:14x2,block=56,staged=1" or "pixels:..."
std::string to_text(const StrassenConfig& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<StrassenConfig> parse_strassen_config(std::string_view text);

}  // namespace fuseplan::cpu
