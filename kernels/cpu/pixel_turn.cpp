// SPDX-License-Identifier: MIT
#include "kernels/cpu/pixel_turn.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/intrinsics.hpp"
#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

/// One by one, a plane after the other.
template <typename F>
void turn_each(const void* from, const PixelBlock& block, void* to, std::int64_t step) {
  const auto* input = static_cast<const typename F::Source*>(from);
  auto* output = static_cast<typename F::Stored*>(to);
  for (std::int64_t c = 0; c < block.channels; ++c, ++output, input += block.channel_stride)
    for (std::int64_t p = 0; p < block.pixels; ++p)
      output[p * step] = F::of(input[p * block.pixel_stride]);
}

using Bytes = PlainByte::Run;
using Halves = PlainHalf::Run;

struct Neighbours {
  static Bytes low(Bytes a, Bytes b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  static Bytes high(Bytes a, Bytes b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  }
  static Halves low(Halves a, Halves b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  static Halves high(Halves a, Halves b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
  /// Elements 0, 2, ... of two vectors, of which the second begins with the last of the first.
  static Bytes every_other(Bytes a, Bytes b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  }
  static Halves every_other(Halves a, Halves b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15);
  }
};

/// Rounds of interleaving rows i and i + half as many transpose a square.
template <typename V, std::size_t kRows>
void transpose(V (&rows)[kRows]) {
  for (std::size_t round = 1; round < kRows; round *= 2) {
    V next[kRows];
    for (std::size_t i = 0; i < kRows / 2; ++i) {
      next[2 * i] = Neighbours::low(rows[i], rows[i + kRows / 2]);
      next[2 * i + 1] = Neighbours::high(rows[i], rows[i + kRows / 2]);
    }
    std::memcpy(rows, next, sizeof next);
  }
}

/// So many elements as a vector has, or every other one of twice as many.
template <typename T, typename V>
V load(const T* from, std::int64_t stride) {
  V first, second;
  std::memcpy(&first, from, sizeof first);
  if (stride == 1) return first;
  std::memcpy(&second, from + sizeof first / sizeof(T) - 1, sizeof second);
  return Neighbours::every_other(first, second);
}

/// In squares.
template <typename F>
void turn_squares(const void* from, const PixelBlock& block, void* to, std::int64_t step) {
  using Source = typename F::Source;
  using Vector = std::conditional_t<sizeof(Source) == 1, Bytes, Halves>;
  constexpr std::int64_t kSide = F::kRun;
  if (block.pixel_stride > 2 || block.pixels < kSide || block.channels < kSide)
    return turn_each<F>(from, block, to, step);
  // The last squares are whole, too: some elements are copied twice.
  const auto start = [](std::int64_t at, std::int64_t all) { return std::min(at, all - kSide); };
  const RowsAhead ahead(block.pixel_stride, block.channel_stride, sizeof(Source));
  for (std::int64_t next = 0; next < block.channels; next += kSide) {
    const std::int64_t c = start(next, block.channels);
    const auto* planes = static_cast<const Source*>(from) + c * block.channel_stride;
    for (std::int64_t i = 0; i < kSide && block.ahead != 0; ++i)
      ahead.ask(reinterpret_cast<const std::byte*>(planes + i * block.channel_stride + block.ahead),
                block.pixels);
    for (std::int64_t at = 0; at < block.pixels; at += kSide) {
      const std::int64_t p = start(at, block.pixels);
      Vector rows[kSide];
      for (std::int64_t i = 0; i < kSide; ++i)
        rows[i] = load<Source, Vector>(
            planes + i * block.channel_stride + p * block.pixel_stride, block.pixel_stride);
      transpose(rows);
      auto* pixel = static_cast<typename F::Stored*>(to) + p * step + c;
      for (std::int64_t i = 0; i < kSide; ++i, pixel += step) F::put(reinterpret_cast<typename F::Run>(rows[i]), pixel);
    }
  }
}

#if defined(__x86_64__)
constexpr std::int64_t kLanes = 16;  ///< words of a vector, and both sides of a square

/// The first `count` of elements, or of every other one, as the low bits of words.
FUSEPLAN_AVX512 inline __m512i words(const std::uint8_t* from, bool every_other,
                                     std::int64_t count) {
  if (!every_other)
    return _mm512_cvtepu8_epi32(
        _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << count) - 1), from));
  const auto span = static_cast<__mmask32>((1u << (2 * count - 1)) - 1);
  return _mm512_and_si512(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi8(span, from)),
                          _mm512_set1_epi32(0xff));
}
FUSEPLAN_AVX512 inline __m512i words(const std::int8_t* from, bool every_other,
                                     std::int64_t count) {
  constexpr int kBeforeByte = 24, kBeforeHalf = 16;
  const __m512i bytes = words(reinterpret_cast<const std::uint8_t*>(from), every_other, count);
  const __m512i wide = _mm512_srai_epi32(_mm512_slli_epi32(bytes, kBeforeByte), kBeforeByte - 16);
  return _mm512_srli_epi32(wide, kBeforeHalf);
}
FUSEPLAN_AVX512 inline __m512i words(const std::uint16_t* from, bool every_other,
                                     std::int64_t count) {
  if (!every_other)
    return _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << count) - 1), from));
  const auto span = static_cast<__mmask32>((1u << (2 * count - 1)) - 1);
  return _mm512_and_si512(_mm512_maskz_loadu_epi16(span, from), _mm512_set1_epi32(0xffff));
}

/// Up to a vector of pixels of some planes.
template <typename F>
struct Lines {
  const typename F::Source* from;
  std::int64_t step, last;  ///< from a plane to the next; the last of them
  bool every_other;
  std::int64_t pixels;

  /// Planes that do not exist are the last once more.
  FUSEPLAN_AVX512 __m512i plane(std::int64_t index) const {
    return words(from + std::min(index, last) * step, every_other, pixels);
  }
  /// Planes whose elements share words, from this one on.
  FUSEPLAN_AVX512 __m512i joined(std::int64_t first) const {
    if constexpr (sizeof(typename F::Stored) == 2) {
      return _mm512_or_si512(plane(first), _mm512_slli_epi32(plane(first + 1), 16));
    } else {
      const __m512i low = _mm512_or_si512(plane(first), _mm512_slli_epi32(plane(first + 1), 8));
      const __m512i high =
          _mm512_or_si512(plane(first + 2), _mm512_slli_epi32(plane(first + 3), 8));
      return _mm512_xor_si512(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)),
                              _mm512_set1_epi8(static_cast<char>(F::kZero)));
    }
  }
};

/// Elements that will share a word of output are joined, and squares of words turned.
template <typename F>
FUSEPLAN_AVX512 void turn_avx512(const void* from, const PixelBlock& block, void* to,
                                 std::int64_t step) {
  using Source = typename F::Source;
  using Stored = typename F::Stored;
  constexpr std::int64_t kShared = sizeof(float) / sizeof(Stored), kChannels = kShared * kLanes;
  // Of few channels, squares would be mostly empty.
  if (block.pixel_stride > 2 || block.channels < kLanes / 2)
    return turn_each<F>(from, block, to, step);
  const auto turn = moves_for(DType::f32, Isa::avx512).turn;
  const RowsAhead ahead(block.pixel_stride, block.channel_stride, sizeof(Source));
  alignas(64) float joined[kLanes * kLanes], turned[kLanes * kLanes];
  for (std::int64_t c = 0; c < block.channels; c += kChannels) {
    const std::int64_t channels = std::min(kChannels, block.channels - c);
    const auto* planes = static_cast<const Source*>(from) + c * block.channel_stride;
    for (std::int64_t i = 0; i < channels && block.ahead != 0; ++i)
      ahead.ask(reinterpret_cast<const std::byte*>(planes + i * block.channel_stride + block.ahead),
                block.pixels);
    for (std::int64_t p = 0; p < block.pixels; p += kLanes) {
      // The last are whole vectors, too, if there are as many: some are copied twice.
      const std::int64_t first = std::max<std::int64_t>(0, std::min(p, block.pixels - kLanes));
      const std::int64_t pixels = std::min(kLanes, block.pixels);
      const Lines<F> lines{planes + first * block.pixel_stride, block.channel_stride, channels - 1,
                           block.pixel_stride == 2, pixels};
      for (std::int64_t i = 0; i < kLanes; ++i)
        _mm512_store_si512(joined + i * kLanes, lines.joined(i * kShared));
      auto* pixel = static_cast<Stored*>(to) + first * step + c;
      if (pixels == kLanes && channels == kChannels && step % kShared == 0) {
        turn(joined, kLanes, kLanes, kLanes, reinterpret_cast<float*>(pixel), step / kShared);
        continue;
      }
      turn(joined, kLanes, kLanes, kLanes, turned, kLanes);
      for (std::int64_t i = 0; i < pixels; ++i, pixel += step)
        std::memcpy(pixel, turned + i * kLanes, static_cast<std::size_t>(channels) * sizeof(Stored));
    }
  }
}
#endif

}  // namespace

template <typename Form>
PixelTurn pixel_turn_for([[maybe_unused]] Isa isa) {
  if constexpr (std::is_same_v<Form, PlainWord>) {
    return turn_each<Form>;
  } else {
#if defined(__x86_64__)
    if (isa == Isa::avx512) return turn_avx512<Form>;
#endif
    return turn_squares<Form>;
  }
}

template PixelTurn pixel_turn_for<PlainByte>(Isa);
template PixelTurn pixel_turn_for<ShiftedByte>(Isa);
template PixelTurn pixel_turn_for<WideUnsigned>(Isa);
template PixelTurn pixel_turn_for<WideSigned>(Isa);
template PixelTurn pixel_turn_for<PlainHalf>(Isa);
template PixelTurn pixel_turn_for<PlainWord>(Isa);

}  // namespace fuseplan::cpu
