// SPDX-License-Identifier: MIT
#include "kernels/cpu/pixel_turn.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/pixel_interleave.hpp"
#include "kernels/cpu/prefetch.hpp"
#include "kernels/cpu/wide_elements.hpp"

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

/// Asks for what will be wanted next of so many planes.
template <typename Source>
void ask_ahead(const Source* planes, std::int64_t count, const PixelBlock& block) {
  if (block.ahead == 0) return;
  const RowsAhead ahead(block.pixel_stride, block.channel_stride, sizeof(Source));
  for (std::int64_t i = 0; i < count; ++i)
    ahead.ask(reinterpret_cast<const std::byte*>(planes + i * block.channel_stride + block.ahead),
              block.pixels);
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
  for (std::int64_t next = 0; next < block.channels; next += kSide) {
    const std::int64_t c = start(next, block.channels);
    const auto* planes = static_cast<const Source*>(from) + c * block.channel_stride;
    ask_ahead(planes, kSide, block);
    for (std::int64_t at = 0; at < block.pixels; at += kSide) {
      const std::int64_t p = start(at, block.pixels);
      Vector rows[kSide];
      for (std::int64_t i = 0; i < kSide; ++i)
        rows[i] = load<Source, Vector>(planes + i * block.channel_stride + p * block.pixel_stride,
                                       block.pixel_stride);
      transpose(rows);
      auto* pixel = static_cast<typename F::Stored*>(to) + p * step + c;
      for (std::int64_t i = 0; i < kSide; ++i, pixel += step)
        F::put(reinterpret_cast<typename F::Run>(rows[i]), pixel);
    }
  }
}

#if defined(__x86_64__)
/// Elements that will share a word of output are joined, and squares of words turned.
template <typename F>
FUSEPLAN_AVX512 void turn_avx512(const void* from, const PixelBlock& block, void* to,
                                 std::int64_t step) {
  using Source = typename F::Source;
  using Stored = typename F::Stored;
  constexpr std::int64_t kShared = sizeof(float) / sizeof(Stored), kChannels = kShared * kWords;
  if (interleave<F>(from, block, to, step)) return;
  // Of few channels, squares would be mostly empty.
  if (block.pixel_stride > 2 || block.channels < kWords / 2)
    return turn_each<F>(from, block, to, step);
  const auto* input = static_cast<const Source*>(from);
  auto* output = static_cast<Stored*>(to);
  const auto turn = moves_for(DType::f32, Isa::avx512).turn;
  alignas(64) float joined[kWords * kWords], turned[kWords * kWords];
  for (std::int64_t c = 0; c < block.channels; c += kChannels) {
    const std::int64_t channels = std::min(kChannels, block.channels - c);
    const __mmask64 stored = ~__mmask64{0} >> (kChannels - channels) * sizeof(Stored);
    const auto* planes = input + c * block.channel_stride;
    ask_ahead(planes, channels, block);
    for (std::int64_t p = 0; p < block.pixels; p += kWords) {
      // The last are whole vectors, too, if there are as many: some are copied twice.
      const std::int64_t first = std::max<std::int64_t>(0, std::min(p, block.pixels - kWords));
      const std::int64_t pixels = std::min(kWords, block.pixels);
      const PlaneWords<F> lines{planes + first * block.pixel_stride, block.channel_stride,
                                channels - 1, block.pixel_stride, pixels};
      for (std::int64_t i = 0; i < kWords; ++i)
        _mm512_store_si512(joined + i * kWords, lines.joined(i * kShared));
      auto* pixel = output + first * step + c;
      if (pixels == kWords && channels == kChannels && step % kShared == 0) {
        turn(joined, kWords, kWords, kWords, reinterpret_cast<float*>(pixel), step / kShared);
        continue;
      }
      turn(joined, kWords, kWords, kWords, turned, kWords);
      for (std::int64_t i = 0; i < pixels; ++i, pixel += step)
        _mm512_mask_storeu_epi8(pixel, stored, _mm512_load_si512(turned + i * kWords));
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
