// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace fuseplan::cpu {

/// Pixels by channels of 8-bit integers and their distances in memory.
struct ByteBlock {
  std::int64_t pixels, channels, pixel_step, channel_step;
};

/// to[p * channels + c] = the element of pixel p and channel c, as 16 bits.
void widen_bytes(bool is_signed, const std::uint8_t* from, const ByteBlock& block,
                 std::int16_t* to);

/// sums[k] += sum over j < length of x[j] * w[k * step + j], for four k.
void dot4(const std::int16_t* x, const std::int16_t* w, std::int64_t step, std::int64_t length,
          std::int32_t* sums);

}  // namespace fuseplan::cpu
