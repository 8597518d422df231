// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "base/parallel.hpp"
#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// Weights as the tiles read them: f32 [block][kd][kh][kw][input channel][kTileChannels], blocks of
/// output channels that never reach over a group; missing channels are zero. A lane-wise
/// convolution has one input channel per output channel and blocks over all of them.
struct PackedWeights {
  PackedWeights(const ConvGeometry& g, const Tensor& raw);

  void pack(const void* raw, float* packed, const Parallel& parallel) const;
  std::string format() const;
  std::size_t bytes() const;

  /// Output channels of block `block`.
  std::int64_t first_channel(std::int64_t block) const;
  int channel_count(std::int64_t block) const;

  std::int64_t channels;    ///< summed over
  std::int64_t blocks;      ///< of all groups
  std::int64_t tap_floats;  ///< from one tap to the next along kw
  std::int64_t block_floats;

 private:
  std::int64_t blocked_channels_, blocks_per_group_;  // output channels cut into blocks, and how
  std::array<std::int64_t, 3> filter_;
  View raw_;
  DType dtype_;
  std::string raw_text_;
};

}  // namespace fuseplan::cpu
