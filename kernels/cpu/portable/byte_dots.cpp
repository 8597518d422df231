// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/byte_dots.hpp"

namespace fuseplan::cpu {
namespace {

template <typename Byte>
void widen(const Byte* from, const ByteBlock& block, std::int16_t* to) {
  for (std::int64_t p = 0; p < block.pixels; ++p, to += block.channels) {
    const Byte* pixel = from + p * block.pixel_step;
    if (block.channel_step == 1) {
      for (std::int64_t c = 0; c < block.channels; ++c) to[c] = pixel[c];
    } else {
      for (std::int64_t c = 0; c < block.channels; ++c) to[c] = pixel[c * block.channel_step];
    }
  }
}

}  // namespace

void widen_bytes(bool is_signed, const std::uint8_t* from, const ByteBlock& block,
                 std::int16_t* to) {
  if (is_signed) return widen(reinterpret_cast<const std::int8_t*>(from), block, to);
  widen(from, block, to);
}

// Products of 16-bit integers added up pairwise are one instruction of every x86 (pmaddwd), which
// compilers find in this form.
void dot4(const std::int16_t* x, const std::int16_t* w, std::int64_t step, std::int64_t length,
          std::int32_t* sums) {
  std::int32_t a = 0, b = 0, c = 0, d = 0;
  const std::int16_t *w1 = w + step, *w2 = w + 2 * step, *w3 = w + 3 * step;
  for (std::int64_t j = 0; j < length; ++j) {
    a += x[j] * w[j];
    b += x[j] * w1[j];
    c += x[j] * w2[j];
    d += x[j] * w3[j];
  }
  sums[0] += a;
  sums[1] += b;
  sums[2] += c;
  sums[3] += d;
}

}  // namespace fuseplan::cpu
