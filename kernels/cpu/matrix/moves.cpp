// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/moves.hpp"

#include <cstring>

namespace fuseplan::cpu {
namespace {

using Half = std::uint16_t;

// Vectors that every baseline has (GNU extension: gcc, clang, every target).
typedef Half Halves __attribute__((vector_size(16)));
constexpr std::int64_t kSquare = 8;

/// Three rounds of interleaving rows i and i + 4 transpose a square.
void transpose(Halves (&rows)[kSquare]) {
  for (int round = 0; round < 3; ++round) {
    Halves next[kSquare];
    for (int i = 0; i < 4; ++i) {
      const Halves a = rows[i], b = rows[i + 4];
      next[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(rows, next, sizeof next);
  }
}

void copy_each(const Half* from, const BytePixels& block, Half* to, std::int64_t step) {
  for (std::int64_t p = 0; p < block.pixels; ++p)
    for (std::int64_t c = 0; c < block.channels; ++c)
      to[p * step + c] = from[p * block.pixel_stride + c * block.channel_stride];
}

/// Channels by contiguous pixels to pixels by channels, in squares; the rest one by one.
void copy_turned(const Half* from, const BytePixels& block, Half* to, std::int64_t step) {
  const std::int64_t pixels = block.pixels / kSquare * kSquare;
  const std::int64_t channels = block.channels / kSquare * kSquare;
  for (std::int64_t c = 0; c < channels; c += kSquare)
    for (std::int64_t p = 0; p < pixels; p += kSquare) {
      Halves rows[kSquare];
      for (std::int64_t i = 0; i < kSquare; ++i)
        std::memcpy(&rows[i], from + (c + i) * block.channel_stride + p, sizeof rows[i]);
      transpose(rows);
      for (std::int64_t i = 0; i < kSquare; ++i)
        std::memcpy(to + (p + i) * step + c, &rows[i], sizeof rows[i]);
    }
  BytePixels rest = block;
  rest.pixels = pixels;
  rest.channels -= channels;
  copy_each(from + channels * block.channel_stride, rest, to + channels, step);
  rest = block;
  rest.pixels -= pixels;
  copy_each(from + pixels, rest, to + pixels * step, step);
}

void copy_halves(const void* input, const BytePixels& block, void* output, std::int64_t step) {
  const Half* from = static_cast<const Half*>(input);
  Half* to = static_cast<Half*>(output);
  const auto bytes = static_cast<std::size_t>(block.channels) * sizeof(Half);
  if (block.channel_stride == 1) {
    for (std::int64_t p = 0; p < block.pixels; ++p)
      std::memcpy(to + p * step, from + p * block.pixel_stride, bytes);
  } else if (block.pixel_stride == 1) {
    copy_turned(from, block, to, step);
  } else {
    copy_each(from, block, to, step);
  }
}

void copy_bytes(const void* input, const BytePixels& block, void* output, std::int64_t step) {
  byte_moves_for(false, DotKind::quads)
      .copy(static_cast<const std::uint8_t*>(input), block, output, step);
}

}  // namespace

PixelCopy pixel_copy_for(int element) { return element == 1 ? copy_bytes : copy_halves; }

}  // namespace fuseplan::cpu
