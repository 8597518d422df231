// SPDX-License-Identifier: MIT
#include "kernels/cpu/pixel_interleave.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "kernels/cpu/wide_elements.hpp"

namespace fuseplan::cpu {
namespace {

#if defined(__x86_64__)
constexpr std::size_t kFew = 8, kHalves = 32;  ///< fewer channels than kFew; halves of a vector

/// As many vectors as there are channels hold kHalves pixels of them, one after another: which
/// pixel is in a lane, and which lanes are a channel's.
struct Interleaving {
  std::uint16_t pixel[kFew][kHalves];
  std::uint32_t lanes[kFew][kFew];
};
constexpr Interleaving interleaving(std::size_t channels) {
  Interleaving order{};
  for (std::size_t i = 0; i < channels * kHalves; ++i) {
    order.pixel[i / kHalves][i % kHalves] = static_cast<std::uint16_t>(i / channels);
    order.lanes[i / kHalves][i % channels] |= std::uint32_t{1} << i % kHalves;
  }
  return order;
}
constexpr Interleaving kInterleavings[] = {interleaving(1), interleaving(2), interleaving(3),
                                           interleaving(4), interleaving(5), interleaving(6),
                                           interleaving(7)};

/// Planes of halves, fewer than kFew, whose pixels are neighbours.
FUSEPLAN_AVX512 void interleave_halves(const std::uint16_t* from, const PixelBlock& block,
                                       std::uint16_t* to) {
  const auto channels = static_cast<std::size_t>(block.channels);
  const Interleaving& order = kInterleavings[channels - 1];
  for (std::int64_t p = 0; p < block.pixels; p += kHalves, from += kHalves) {
    const std::int64_t pixels = std::min<std::int64_t>(kHalves, block.pixels - p);
    for (std::size_t vector = 0; vector < channels; ++vector, to += kHalves) {
      const __m512i pixel = _mm512_loadu_si512(order.pixel[vector]);
      __m512i result = _mm512_setzero_si512();
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const std::uint16_t* plane =
            from + static_cast<std::int64_t>(channel) * block.channel_stride;
        result =
            _mm512_mask_permutexvar_epi16(result, order.lanes[vector][channel], pixel,
                                          _mm512_maskz_loadu_epi16(first_elements(pixels), plane));
      }
      const auto before = static_cast<std::int64_t>(vector * kHalves);
      _mm512_mask_storeu_epi16(to, first_elements(pixels * block.channels - before), result);
    }
  }
}

/// Where the first `channels` bytes of each word go, so that they follow one another: bytes within
/// a quarter of a vector, then words.
struct KeptBytes {
  std::uint8_t bytes[4 * kWords];
  std::uint32_t words[kWords];
};
constexpr KeptBytes kept_bytes(std::size_t channels) {
  KeptBytes kept{};
  for (std::size_t i = 0; i < std::size(kept.bytes); ++i) {
    const std::size_t at = i % kWords;
    kept.bytes[i] = static_cast<std::uint8_t>(at / channels * 4 + at % channels);
  }
  for (std::size_t i = 0; i < std::size(kept.words); ++i)
    kept.words[i] = static_cast<std::uint32_t>(i / channels * 4 + i % channels);
  return kept;
}
constexpr KeptBytes kKeptBytes[] = {kept_bytes(1), kept_bytes(2), kept_bytes(3), kept_bytes(4)};

/// Planes of bytes, up to 4.
template <typename Form>
FUSEPLAN_AVX512 void interleave_bytes(const typename Form::Source* from, const PixelBlock& block,
                                      typename Form::Stored* to) {
  const std::int64_t channels = block.channels;
  const KeptBytes& kept = kKeptBytes[channels - 1];
  const __m512i bytes = _mm512_loadu_si512(kept.bytes), order = _mm512_loadu_si512(kept.words);
  for (std::int64_t p = 0; p < block.pixels; p += kWords) {
    const std::int64_t pixels = std::min(kWords, block.pixels - p);
    const PlaneWords<Form> lines{from + p * block.pixel_stride, block.channel_stride, channels - 1,
                                 block.pixel_stride, pixels};
    const __mmask64 stored = ~__mmask64{0} >> (4 * kWords - pixels * channels);
    _mm512_mask_storeu_epi8(
        to + p * channels, stored,
        _mm512_permutexvar_epi32(order, _mm512_shuffle_epi8(lines.joined(0), bytes)));
  }
}
#endif

}  // namespace

#if defined(__x86_64__)
template <typename Form>
bool interleave(const void* from, const PixelBlock& block, void* to, std::int64_t step) {
  using Source = typename Form::Source;
  using Stored = typename Form::Stored;
  if (step != block.channels) return false;
  if constexpr (std::is_same_v<Form, PlainHalf>) {
    if (block.pixel_stride != 1 || block.channels >= std::int64_t{kFew}) return false;
    interleave_halves(static_cast<const Source*>(from), block, static_cast<Stored*>(to));
    return true;
  } else if constexpr (sizeof(Stored) == 1) {
    if (block.pixel_stride > 2 || block.channels > std::ssize(kKeptBytes)) return false;
    interleave_bytes<Form>(static_cast<const Source*>(from), block, static_cast<Stored*>(to));
    return true;
  } else {
    return false;
  }
}
#else
template <typename Form>
bool interleave(const void*, const PixelBlock&, void*, std::int64_t) {
  return false;
}
#endif

template bool interleave<PlainByte>(const void*, const PixelBlock&, void*, std::int64_t);
template bool interleave<ShiftedByte>(const void*, const PixelBlock&, void*, std::int64_t);
template bool interleave<WideUnsigned>(const void*, const PixelBlock&, void*, std::int64_t);
template bool interleave<WideSigned>(const void*, const PixelBlock&, void*, std::int64_t);
template bool interleave<PlainHalf>(const void*, const PixelBlock&, void*, std::int64_t);

}  // namespace fuseplan::cpu
