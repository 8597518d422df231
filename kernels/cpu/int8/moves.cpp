// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/moves.hpp"

#include <algorithm>
#include <cstring>

namespace fuseplan::cpu {
namespace {

// Vectors that every baseline has (GNU extension: gcc, clang, every target).
typedef std::uint8_t Bytes __attribute__((vector_size(16)));
constexpr std::int64_t kSquare = 16;

Bytes load(const std::uint8_t* from) {
  Bytes value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename V>
void store(void* to, const V& value) {
  std::memcpy(to, &value, sizeof value);
}

Bytes interleave_low(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes interleave_high(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

/// Four rounds of interleaving rows i and i + 8 transpose a square.
void transpose(Bytes (&rows)[kSquare]) {
  for (int round = 0; round < 4; ++round) {
    Bytes next[kSquare];
    for (int i = 0; i < 8; ++i) {
      next[2 * i] = interleave_low(rows[i], rows[i + 8]);
      next[2 * i + 1] = interleave_high(rows[i], rows[i + 8]);
    }
    std::memcpy(rows, next, sizeof next);
  }
}

/// A byte without its sign: x + 128.
struct Shifted {
  using Element = std::uint8_t;
  static constexpr Element kZero = 0x80;
  static Element of(std::uint8_t byte) { return static_cast<Element>(byte ^ 0x80u); }
  static void put(void* to, Bytes bytes) { store(to, bytes ^ kZero); }
};
struct Plain {
  using Element = std::uint8_t;
  static constexpr Element kZero = 0;
  static Element of(std::uint8_t byte) { return byte; }
  static void put(void* to, Bytes bytes) { store(to, bytes); }
};
template <typename Byte>
struct Widened {
  using Element = std::int16_t;
  static constexpr Element kZero = 0;
  static Element of(std::uint8_t byte) { return static_cast<Byte>(byte); }
  static void put(void* to, Bytes bytes) {
    typedef Byte Narrow __attribute__((vector_size(16)));
    typedef Element Wide __attribute__((vector_size(32)));
    store(to, __builtin_convertvector(reinterpret_cast<Narrow>(bytes), Wide));
  }
};

template <typename Form>
void copy_run(const std::uint8_t* from, std::int64_t count, typename Form::Element* to) {
  std::int64_t i = 0;
  for (; i + kSquare <= count; i += kSquare) Form::put(to + i, load(from + i));
  for (; i < count; ++i) to[i] = Form::of(from[i]);
}

template <typename Form>
void copy_each(const std::uint8_t* from, const BytePixels& block, typename Form::Element* to,
               std::int64_t step) {
  for (std::int64_t p = 0; p < block.pixels; ++p)
    for (std::int64_t c = 0; c < block.channels; ++c)
      to[p * step + c] = Form::of(from[p * block.pixel_stride + c * block.channel_stride]);
}

/// Channels by contiguous pixels to pixels by channels, in squares; the rest one by one.
template <typename Form>
void copy_turned(const std::uint8_t* from, const BytePixels& block, typename Form::Element* to,
                 std::int64_t step) {
  const std::int64_t pixels = block.pixels / kSquare * kSquare;
  const std::int64_t channels = block.channels / kSquare * kSquare;
  for (std::int64_t c = 0; c < channels; c += kSquare)
    for (std::int64_t p = 0; p < pixels; p += kSquare) {
      Bytes rows[kSquare];
      for (std::int64_t i = 0; i < kSquare; ++i)
        rows[i] = load(from + (c + i) * block.channel_stride + p);
      transpose(rows);
      for (std::int64_t i = 0; i < kSquare; ++i) Form::put(to + (p + i) * step + c, rows[i]);
    }
  BytePixels rest = block;
  rest.pixels = pixels;
  rest.channels -= channels;
  copy_each<Form>(from + channels * block.channel_stride, rest, to + channels, step);
  rest = block;
  rest.pixels -= pixels;
  copy_each<Form>(from + pixels, rest, to + pixels * step, step);
}

template <typename Form>
void copy(const std::uint8_t* from, const BytePixels& block, void* to, std::int64_t step) {
  auto* elements = static_cast<typename Form::Element*>(to);
  if (block.channel_stride == 1 && block.pixel_stride == block.channels && step == block.channels)
    return copy_run<Form>(from, block.pixels * block.channels, elements);
  if (block.channel_stride == 1) {
    for (std::int64_t p = 0; p < block.pixels; ++p)
      copy_run<Form>(from + p * block.pixel_stride, block.channels, elements + p * step);
  } else if (block.pixel_stride == 1) {
    copy_turned<Form>(from, block, elements, step);
  } else {
    copy_each<Form>(from, block, elements, step);
  }
}

template <typename Form>
void fill(void* to, std::int64_t count) {
  std::fill_n(static_cast<typename Form::Element*>(to), count, Form::kZero);
}

template <typename Form>
constexpr ByteMoves kMoves{copy<Form>, fill<Form>};

}  // namespace

ByteMoves byte_moves_for(bool is_signed, DotKind dot) {
  if (dot == DotKind::quads) return is_signed ? kMoves<Shifted> : kMoves<Plain>;
  return is_signed ? kMoves<Widened<std::int8_t>> : kMoves<Widened<std::uint8_t>>;
}

}  // namespace fuseplan::cpu
