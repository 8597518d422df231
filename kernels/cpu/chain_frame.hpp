// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace fuseplan::cpu {

/// Floats from one root's channel values to the next root's: whole vectors of the widest.
constexpr std::int64_t channel_stride_of(std::int64_t channels) {
  return (channels + 15) / 16 * 16;
}

/// The slower values of a chain, computed once per launch before any kernel runs.
struct ChainFrame {
  const float* uniforms = nullptr;  ///< roots of SplitChain::uniforms
  const float* channels = nullptr;  ///< root r of SplitChain::channels, channel k: [r * stride + k]
  std::int64_t channel_stride = 0;  ///< channel_stride_of() the channels
};

/// Whole cache lines that wait in scratch to be stored past the caches, by kernels that do so in
/// passing and move all three on.
struct Drain {
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t bytes = 0;
};

/// What a rows kernel reads: a block of rows with a chain applied to every lane. Steps are in bytes
/// from one row to the next.
struct RowsCall {
  const void* input = nullptr;
  void* output = nullptr;
  const void* const* elements = nullptr;  ///< by SplitChain::elements index, at the block's start
  const std::int64_t* element_steps = nullptr;
  const float* uniforms = nullptr;
  const float* channels = nullptr;        ///< at the channel of the block's first lane
  std::int64_t channel_stride_bytes = 0;  ///< from one root to the next
  std::int64_t channel_step = 0;          ///< from one row to the next; 0 when lanes are channels
  std::int64_t rows = 0, lanes = 0;       ///< both at least 1
  std::int64_t input_step = 0, output_step = 0;
  Drain* drain = nullptr;  ///< of kernels that drain
};

}  // namespace fuseplan::cpu
