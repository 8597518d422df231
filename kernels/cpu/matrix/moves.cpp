// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/moves.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/intrinsics.hpp"
#include "kernels/cpu/matrix/pieces.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kVector = 64;

#if defined(__x86_64__)
__mmask64 first_bytes(std::int64_t count) {
  return count >= kVector ? ~__mmask64{0} : count <= 0 ? 0 : (__mmask64{1} << count) - 1;
}

/// Each pixel's `bytes` bytes lie together, `step` bytes from one pixel to the next. All of a pixel
/// before the next one: hardware then asks for what comes from afar.
FUSEPLAN_AVX512 void copy_pixels(const std::byte* from, std::int64_t step, std::int64_t bytes,
                                 std::int64_t pixels, const PixelRows& rows) {
  const std::int64_t whole = bytes / kVector * kVector;
  const __mmask64 read = first_bytes(bytes - whole), write = first_bytes(rows.width - whole);
  for (std::int64_t p = 0; p < pixels; ++p) {
    const std::byte* input = from + p * step;
    std::byte* output = rows.to + p * rows.step;
    for (std::int64_t at = 0; at < whole; at += kVector)
      _mm512_storeu_si512(output + at, _mm512_loadu_si512(input + at));
    if (write == 0) continue;
    _mm512_mask_storeu_epi8(output + whole, write, _mm512_maskz_loadu_epi8(read, input + whole));
    for (std::int64_t at = whole + kVector; at < rows.width; at += kVector)
      _mm512_mask_storeu_epi8(output + at, first_bytes(rows.width - at), _mm512_setzero_si512());
  }
}
#else
void copy_pixels(const std::byte* from, std::int64_t step, std::int64_t bytes, std::int64_t pixels,
                 const PixelRows& rows) {
  for (std::int64_t p = 0; p < pixels; ++p) {
    std::memcpy(rows.to + p * rows.step, from + p * step, static_cast<std::size_t>(bytes));
    std::memset(rows.to + p * rows.step + bytes, 0, static_cast<std::size_t>(rows.width - bytes));
  }
}
#endif

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

template <typename Element>
void copy_each(const Element* from, const BytePixels& block, Element* to, std::int64_t step) {
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

void copy_halves(const void* from, const BytePixels& block, void* to, std::int64_t step) {
  const auto* input = static_cast<const Half*>(from);
  auto* output = static_cast<Half*>(to);
  block.pixel_stride == 1 ? copy_turned(input, block, output, step)
                          : copy_each(input, block, output, step);
}

void copy_bytes(const void* from, const BytePixels& block, void* to, std::int64_t step) {
  byte_moves_for(false, DotKind::quads)
      .copy(static_cast<const std::uint8_t*>(from), block, to, step);
}

void copy_words(const void* from, const BytePixels& block, void* to, std::int64_t step) {
  copy_each(static_cast<const std::uint32_t*>(from), block, static_cast<std::uint32_t*>(to), step);
}

template <int kElement>
void copy(const void* from, const BytePixels& block, const PixelRows& rows) {
  const std::int64_t bytes = block.channels * kElement;
  const auto* input = static_cast<const std::byte*>(from);
  if (block.channel_stride == 1)
    return copy_pixels(input, block.pixel_stride * kElement, bytes, block.pixels, rows);
  const auto elements = kElement == 1 ? copy_bytes : kElement == 2 ? copy_halves : copy_words;
  elements(from, block, rows.to, rows.step / kElement);
  for (std::int64_t p = 0; p < block.pixels && bytes < rows.width; ++p)
    std::memset(rows.to + p * rows.step + bytes, 0, static_cast<std::size_t>(rows.width - bytes));
}

}  // namespace

PixelCopy pixel_copy_for(std::int64_t element) {
  return element == 1 ? copy<1> : element == 2 ? copy<2> : copy<4>;
}

PixelCopy tile_copy_for(Product product) {
  return traits_of(product).is_split() ? split_copy_for(product)
                                       : pixel_copy_for(traits_of(product).element);
}

}  // namespace fuseplan::cpu
