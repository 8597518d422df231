// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/pieces.hpp"

#include <algorithm>
#include <cstring>

#include "base/status.hpp"
#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/pixel_pairs.hpp"
#include "kernels/cpu/prefetch.hpp"
#include "kernels/cpu/wide_elements.hpp"

namespace fuseplan::cpu {
namespace {

#if defined(__x86_64__)
constexpr std::int64_t kLanes = 16;  ///< floats of a vector

struct Pair {
  __m512 low, high;  ///< channels 0 to 15, and 16 to 31
};

FUSEPLAN_AVX512 inline __m512 leading(__m512 value) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(-0x10000)));
}

FUSEPLAN_AVX512 inline __m512 rounded(__m512 value) {
  return leading(
      _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(value), _mm512_set1_epi32(0x8000))));
}

/// rounded(), unless that would be an infinity.
FUSEPLAN_AVX512 inline __m512 rounded_below_infinity(__m512 value) {
  const __m512i bits = _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(0x7fffffff));
  const __mmask16 largest = _mm512_cmpgt_epi32_mask(bits, _mm512_set1_epi32(0x7f7f7fff));
  return _mm512_mask_blend_ps(largest, rounded(value), leading(value));
}

FUSEPLAN_AVX512 inline __mmask16 special(__m512 value) {
  constexpr int kNanOrInfinity = 0x99;
  return _mm512_fpclass_ps_mask(value, kNanOrInfinity);
}

/// Of the sign of `value`, the least number that tiles do not take for zero; or zero, if they do so
/// with `value`.
FUSEPLAN_AVX512 inline __m512 least(__m512 value) {
  constexpr int kZeroOrDenormal = 0x26;
  const __m512i sign =
      _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(-0x7fffffff - 1));
  return _mm512_castsi512_ps(
      _mm512_maskz_or_epi32(static_cast<__mmask16>(~_mm512_fpclass_ps_mask(value, kZeroOrDenormal)),
                            sign, _mm512_set1_epi32(0x00800000)));
}

enum class Side { input, weights };

template <int kPieces>
struct Pieces {
  __m512 piece[kPieces];
};

template <Side kSide>
FUSEPLAN_AVX512 inline void split_vector(__m512 value, Pieces<2>& to) {
  const __mmask16 whole = special(value);
  to.piece[0] = leading(value);
  __m512 rest = _mm512_sub_ps(value, to.piece[0]);
  if (kSide == Side::weights) rest = _mm512_add_ps(rest, least(value));
  to.piece[1] = _mm512_mask_mov_ps(rest, whole, value);
}

template <Side kSide>
FUSEPLAN_AVX512 inline void split_vector(__m512 value, Pieces<3>& to) {
  const __mmask16 whole = special(value), finite = static_cast<__mmask16>(~whole);
  const __m512 first = kSide == Side::input ? leading(value) : rounded_below_infinity(value);
  to.piece[0] = _mm512_maskz_mov_ps(finite, first);
  const __m512 rest = _mm512_maskz_sub_ps(finite, value, first);
  to.piece[1] = rounded(rest);
  // Added to itself, a NaN is quiet, which shows in its leading bits.
  to.piece[2] = _mm512_mask_add_ps(_mm512_sub_ps(rest, to.piece[1]), whole, value, value);
}

/// The numbers of a pair's odd words.
FUSEPLAN_AVX512 inline __m512i odd_words() {
  const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_add_epi32(_mm512_set1_epi32(0x00030001),
                          _mm512_mullo_epi32(lanes, _mm512_set1_epi32(0x00040004)));
}

/// The upper halves of 32 channels' pieces.
template <Side kSide, int kPieces>
FUSEPLAN_AVX512 inline void store_split(const Pair& value, __m512i odd, std::byte* to) {
  Pieces<kPieces> low, high;
  split_vector<kSide>(value.low, low);
  split_vector<kSide>(value.high, high);
  for (int i = 0; i < kPieces; ++i)
    _mm512_storeu_si512(to + i * kTileBytes,
                        _mm512_permutex2var_epi16(_mm512_castps_si512(low.piece[i]), odd,
                                                  _mm512_castps_si512(high.piece[i])));
}

FUSEPLAN_AVX512 inline Pair load(const float* from, std::uint32_t mask) {
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from),
          _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> kLanes), from + kLanes)};
}

using F16 = std::uint16_t;
FUSEPLAN_AVX512 inline Pair load(const F16* from, std::uint32_t mask) {
  const __m512i bits = _mm512_maskz_loadu_epi16(mask, from);
  return {_mm512_cvtph_ps(_mm512_castsi512_si256(bits)),
          _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1))};
}

/// Channels lie together, `step` values from one pixel to the next.
template <Side kSide, typename T, int kPieces>
FUSEPLAN_AVX512 void split_rows(const T* from, std::int64_t step, std::int64_t channels,
                                std::int64_t pixels, const PixelRows& rows) {
  const __m512i odd = odd_words();
  for (std::int64_t p = 0; p < pixels; ++p, from += step) {
    std::byte* to = rows.to + p * rows.step;
    for (std::int64_t c = 0; c < channels; c += kPieceChannels, to += kPieces * kTileBytes)
      store_split<kSide, kPieces>(load(from + c, first_elements(channels - c)), odd, to);
  }
}

/// Pixels lie together, or evenly apart: squares of both are turned first.
template <typename T, int kPieces>
void split_turned(const T* from, DType dtype, const PixelBlock& block, const PixelRows& rows) {
  const Moves moves = moves_for(dtype, Isa::avx512);
  const RowsAhead ahead(block.pixel_stride, block.channel_stride, sizeof(T));
  alignas(kTileBytes) float planes[kPieceChannels * kLanes] = {}, turned[kLanes * kPieceChannels];
  for (std::int64_t c = 0; c < block.channels; c += kPieceChannels)
    for (std::int64_t p = 0; p < block.pixels; p += kLanes) {
      const std::int64_t channels = std::min(kPieceChannels, block.channels - c);
      const std::int64_t pixels = std::min(kLanes, block.pixels - p);
      const T* input = from + c * block.channel_stride + p * block.pixel_stride;
      for (std::int64_t i = 0; i < channels; ++i) {
        const T* line = input + i * block.channel_stride;
        if (block.ahead != 0)
          ahead.ask(reinterpret_cast<const std::byte*>(line + block.ahead), pixels);
        moves.widen(line, block.pixel_stride, planes + i * kLanes, pixels);
      }
      moves.turn(planes, kLanes, kPieceChannels, kLanes, turned, kPieceChannels);
      split_rows<Side::input, float, kPieces>(
          turned, kPieceChannels, channels, pixels,
          {rows.to + p * rows.step + c / kPieceChannels * kPieces * kTileBytes, rows.step, 0});
    }
}

template <typename T, int kPieces>
void copy(const void* from, const PixelBlock& block, const PixelRows& rows) {
  const auto* input = static_cast<const T*>(from);
  if (block.channel_stride == 1)
    return split_rows<Side::input, T, kPieces>(input, block.pixel_stride, block.channels,
                                               block.pixels, rows);
  split_turned<T, kPieces>(input, sizeof(T) == 2 ? DType::f16 : DType::f32, block, rows);
}

template <int kPieces>
FUSEPLAN_AVX512 void join_lanes(const float* even, const float* odd, std::int64_t pixels,
                                std::byte* to, std::int64_t piece_bytes) {
  constexpr __mmask32 kOddWords = 0xaaaaaaaa;
  for (std::int64_t p = 0; p < pixels; p += kLanes) {
    const auto mask = static_cast<__mmask16>(first_elements(pixels - p));
    Pieces<kPieces> low, high;
    split_vector<Side::input>(_mm512_maskz_loadu_ps(mask, even + p), low);
    split_vector<Side::input>(_mm512_maskz_loadu_ps(mask, odd + p), high);
    for (int i = 0; i < kPieces; ++i) {
      const __m512i lanes = _mm512_mask_blend_epi16(
          kOddWords, _mm512_srli_epi32(_mm512_castps_si512(low.piece[i]), 16),
          _mm512_castps_si512(high.piece[i]));
      _mm512_mask_storeu_epi32(to + i * piece_bytes + p * kLaneBytes, mask, lanes);
    }
  }
}

template <DType kType, int kPieces>
void copy_lanes(const ChannelPair& from, std::byte* to, std::int64_t piece_bytes) {
  constexpr std::int64_t kSome = 256;
  static constexpr float kNone[kSome] = {};
  const std::int64_t element = static_cast<std::int64_t>(size_of(kType));
  const auto widen = moves_for(kType, Isa::avx512).widen;
  alignas(kTileBytes) float rows[2][kSome];
  for (std::int64_t p = 0; p < from.pixels; p += kSome) {
    const std::int64_t pixels = std::min(kSome, from.pixels - p);
    const auto read = [&](const void* channel, float* row) -> const float* {
      if (channel == nullptr) return kNone;
      const void* pixel = static_cast<const std::byte*>(channel) + p * from.stride * element;
      if (kType == DType::f32 && from.stride == 1) return static_cast<const float*>(pixel);
      widen(pixel, from.stride, row, pixels);
      return row;
    };
    join_lanes<kPieces>(read(from.even, rows[0]), read(from.odd, rows[1]), pixels,
                        to + p * kLaneBytes, piece_bytes);
  }
}

/// A single piece is the number itself.
void pair_lanes(const ChannelPair& from, std::byte* to, std::int64_t) {
  pair_halves(static_cast<const std::uint16_t*>(from.even),
              static_cast<const std::uint16_t*>(from.odd), from.stride,
              reinterpret_cast<std::uint32_t*>(to), from.pixels);
}

template <int kPieces>
void split_tile(const float* from, std::int64_t step, bool by_plane, void* to) {
  alignas(kTileBytes) float pieces[kTileRows][kMostPieces][kLanes];
  split_rows<Side::weights, float, kPieces>(
      from, step, kPieceChannels, kTileRows,
      {reinterpret_cast<std::byte*>(pieces), sizeof pieces[0], 0});
  const Moves moves = moves_for(DType::f32, Isa::avx512);
  auto* tile = static_cast<float*>(to);
  for (int piece = 0; piece < kPieces; ++piece, tile += kTileRows * kLanes)
    if (by_plane) {
      for (int row = 0; row < kTileRows; ++row)
        std::memcpy(tile + row * kLanes, pieces[row][piece], sizeof pieces[row][piece]);
    } else {
      moves.turn(pieces[0][piece], kMostPieces * kLanes, kTileRows, kLanes, tile, kLanes);
    }
}
#endif

}  // namespace

#if defined(__x86_64__)
PixelCopy split_copy_for(Product product) {
  return product == Product::f16 ? copy<F16, 2> : copy<float, 3>;
}

LaneCopy lane_copy_for(Product product) {
  if (product == Product::bf16) return pair_lanes;
  return product == Product::f16 ? copy_lanes<DType::f16, 2> : copy_lanes<DType::f32, 3>;
}

void split_weights(Product product, const float* from, std::int64_t step, bool by_plane, void* to) {
  (product == Product::f16 ? split_tile<2> : split_tile<3>)(from, step, by_plane, to);
}
#else
PixelCopy split_copy_for(Product) { fail(Status::NotImplemented, "AMX needs an x86 processor"); }
LaneCopy lane_copy_for(Product) { fail(Status::NotImplemented, "AMX needs an x86 processor"); }
void split_weights(Product, const float*, std::int64_t, bool, void*) {
  fail(Status::NotImplemented, "AMX needs an x86 processor");
}
#endif

}  // namespace fuseplan::cpu
