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

template <typename Form>
void copy(const void* from, const PixelBlock& block, const PixelRows& rows) {
  constexpr std::int64_t kElement = sizeof(typename Form::Source);
  const std::int64_t bytes = block.channels * kElement;
  const auto* input = static_cast<const std::byte*>(from);
  if (block.channel_stride == 1)
    return copy_pixels(input, block.pixel_stride * kElement, bytes, block.pixels, rows);
  pixel_turn_for<Form>(Isa::avx512)(from, block, rows.to, rows.step / kElement);
  for (std::int64_t p = 0; p < block.pixels && bytes < rows.width; ++p)
    std::memset(rows.to + p * rows.step + bytes, 0, static_cast<std::size_t>(rows.width - bytes));
}

}  // namespace

PixelCopy pixel_copy_for(std::int64_t element) {
  return element == 1 ? copy<PlainByte> : element == 2 ? copy<PlainHalf> : copy<PlainWord>;
}

PixelCopy tile_copy_for(Product product) {
  return traits_of(product).is_split() ? split_copy_for(product)
                                       : pixel_copy_for(traits_of(product).element);
}

}  // namespace fuseplan::cpu
