// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuseplan::cpu {

/// The tunable choices of a 1x1 convolution.
struct Conv1x1Config {
  bool by_channel = true;  ///< a kernel's vectors hold output channels; otherwise pixels
  int rows = 14;           ///< of a tile, at most; of pixels if by channel, else of channels
  int vectors = 2;         ///< of a tile, at most
  std::int64_t block = 0;  ///< output pixels that all output channels are computed of, in turn
  bool staged = false;     ///< copy a block's input to scratch first
  /// Images whose pixels follow one another in scratch, as those of one: a vector may hold pixels
  /// of two. 1 unless staged; divides the batch.
  std::int64_t images = 1;
  bool operator==(const Conv1x1Config&) const = default;
};

/// "channels:14x2,block=784,staged=0" or "pixels:7x3,block=392,staged=1,images=8"
std::string to_text(const Conv1x1Config& config);
/// nullopt unless `text` is exactly what to_text writes for some config.
std::optional<Conv1x1Config> parse_conv1x1_config(std::string_view text);

}  // namespace fuseplan::cpu
