// SPDX-License-Identifier: MIT
// What kernels ask the caches for while they sum: no result shows whether those are the lines that
// the chain then reads and stores.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/emit/chain_pointers.hpp"
#include "kernels/cpu/emit/elements_ahead.hpp"

namespace fuseplan::test {
namespace {

using cpu::FinishTensor;
using cpu::TilePlace;
using Xbyak::util::r8, Xbyak::util::r9, Xbyak::util::r10;

constexpr std::int64_t kChannels = 96, kPixels = 3;

FinishTensor by_pixel(DType dtype) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  return {dtype, true, size, 0, kChannels * size};
}

/// A tile of `vectors` vectors of channels.
std::vector<TilePlace> tile(int vectors, int lanes) {
  std::vector<TilePlace> places;
  for (std::int64_t pixel = 0; pixel < kPixels; ++pixel)
    for (std::int64_t v = 0; v < vectors; ++v) places.push_back({v * lanes, 0, pixel});
  return places;
}

cpu::FinishSpec sum_of(DType output, const std::vector<FinishTensor>& elements) {
  cpu::FinishSpec finish{
      .body = {}, .lanes_are_channels = true, .output = by_pixel(output), .elements = elements};
  Graph& graph = finish.body.graph;
  Ref value = graph.leaf(Leaf::input);
  for (int i = 0; i < std::ssize(elements); ++i)
    value = graph.call(Fn::add_, value, graph.leaf(Leaf::element, i));
  finish.body.roots = {value};
  return finish;
}

template <typename Code>
std::vector<std::uint8_t> bytes_of(const Code& code) {
  return {code.getCode(), code.getCode() + code.getSize()};
}

/// With a register for the output and two elements.
template <typename Ask>
std::vector<std::uint8_t> asked(cpu::Isa isa, const cpu::FinishSpec& finish, const Ask& ask) {
  const Xbyak::Reg64 registers[] = {r8, r9, r10};
  cpu::VectorCode code(isa);
  cpu::ChainPointers pointers(code, finish, registers);
  ask(pointers);
  return bytes_of(code);
}

std::vector<std::uint8_t> elements_asked(cpu::Isa isa, const std::vector<FinishTensor>& elements,
                                         std::span<const TilePlace> places) {
  return asked(isa, sum_of(DType::f32, elements),
               [&](cpu::ChainPointers& pointers) { pointers.expect_elements(places); });
}

/// Prefetches by an assembler that knows nothing of tensors.
template <typename Emit>
std::vector<std::uint8_t> spelled(const Emit& emit) {
  Xbyak::CodeGenerator code;
  emit(code);
  return bytes_of(code);
}

TEST(EmitExpect, EachLineOfATileOnce) {
  // Pixels lie 384 bytes apart: a vector of AVX-512 is a line, or two of AVX2.
  const auto lines = spelled([](auto& code) {
    for (const int at : {0, 64, 384, 448, 768, 832}) code.prefetcht0(code.ptr[r9 + at]);
  });
  EXPECT_EQ(elements_asked(cpu::Isa::avx512, {by_pixel(DType::f32)}, tile(2, 16)), lines);
  EXPECT_EQ(elements_asked(cpu::Isa::avx2, {by_pixel(DType::f32)}, tile(4, 8)), lines);
}

TEST(EmitExpect, OfNarrowElementsFewerLines) {
  // 192 bytes apart, and four vectors of 16 lanes in two lines; bytes, 96 apart, in one or two.
  EXPECT_EQ(elements_asked(cpu::Isa::avx512, {by_pixel(DType::bf16)}, tile(4, 16)),
            spelled([](auto& code) {
              for (const int at : {0, 64, 192, 256, 384, 448}) code.prefetcht0(code.ptr[r9 + at]);
            }));
  EXPECT_EQ(elements_asked(cpu::Isa::avx512, {by_pixel(DType::u8)}, tile(4, 16)),
            spelled([](auto& code) {
              for (const int at : {0, 96, 128, 192}) code.prefetcht0(code.ptr[r9 + at]);
            }));
}

TEST(EmitExpect, AllElementsThatLieInVectors) {
  FinishTensor pixels = by_pixel(DType::f32), planes = by_pixel(DType::f32);
  pixels.per_lane = false;
  planes.lane_stride = 196;
  EXPECT_TRUE(elements_asked(cpu::Isa::avx512, {pixels, planes}, tile(1, 16)).empty());
  EXPECT_EQ(elements_asked(cpu::Isa::avx512, {planes, by_pixel(DType::f32)}, tile(1, 16)),
            spelled([](auto& code) {
              for (const int at : {0, 384, 768}) code.prefetcht0(code.ptr[r10 + at]);
            }));
}

TEST(EmitExpect, OutputToBeWritten) {
  const std::vector<TilePlace> places = tile(2, 16);
  EXPECT_EQ(asked(cpu::Isa::avx512, sum_of(DType::bf16, {}),
                  [&](cpu::ChainPointers& pointers) { pointers.expect_output(places); }),
            spelled([](auto& code) {
              for (const int at : {0, 192, 384}) code.prefetchw(code.ptr[r8 + at]);
            }));
}

TEST(EmitExpect, SomePixelsAfterOthers) {
  FinishTensor planes = by_pixel(DType::f32);
  planes.lane_stride = 196;
  FinishTensor images = by_pixel(DType::f32);
  images.column = 0;
  const cpu::FinishSpec finish = sum_of(DType::f32, {planes, by_pixel(DType::bf16), images});
  cpu::VectorCode code(cpu::Isa::avx512);
  cpu::ElementsAhead ahead(code, finish, 3, 2);
  ahead.begin(r8, r9);
  ahead.ask(r9);
  cpu::VectorCode expected(cpu::Isa::avx512);
  const Xbyak::Address next = expected.stack_word(expected.reserve_words(1));
  expected.mov(r9, expected.ptr[r8 + 8]);
  expected.mov(next, r9);
  expected.mov(r9, next);
  for (const int at : {0, 64, 192, 256}) expected.prefetcht1(expected.ptr[r9 + at]);
  expected.add(next, 384);
  EXPECT_EQ(bytes_of(code), bytes_of(expected));
}

TEST(EmitExpect, PixelsThatShareLines) {
  FinishTensor narrow = by_pixel(DType::u8);
  narrow.column = 16;
  const cpu::FinishSpec finish = sum_of(DType::f32, {narrow});
  cpu::VectorCode code(cpu::Isa::avx512);
  cpu::ElementsAhead ahead(code, finish, 1, 6);
  ahead.ask(r9);
  cpu::VectorCode expected(cpu::Isa::avx512);
  const Xbyak::Address next = expected.stack_word(expected.reserve_words(1));
  expected.mov(r9, next);
  for (const int at : {0, 64}) expected.prefetcht1(expected.ptr[r9 + at]);
  expected.add(next, 96);
  EXPECT_EQ(bytes_of(code), bytes_of(expected));
}

}  // namespace
}  // namespace fuseplan::test
