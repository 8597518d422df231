// SPDX-License-Identifier: MIT
// The oracle's own conversions and tensors.
#include "support/element.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler_f16.hpp"
#include "support/tensor.hpp"

namespace fuseplan::test {
namespace {

#ifdef FUSEPLAN_COMPILER_HAS_F16
double compiler_f16(std::uint32_t bits) {
  return static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
}

TEST(Element, DecodesEveryF16AsTheCompilerDoes) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = compiler_f16(bits), actual = decode(Element::f16, bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      EXPECT_EQ(actual, expected) << bits;
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
    }
  }
}

TEST(Element, F16RoundsAsTheCompilerDoes) {
  Random random;
  for (int i = 0; i < 100000; ++i) {
    const double value =
        std::ldexp(random.uniform(-2, 2), static_cast<int>(random.between(-28, 17)));
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    EXPECT_EQ(encode(Element::f16, value), expected) << value;
  }
}
#endif

TEST(Element, Bf16IsTheUpperHalfOfF32) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = std::bit_cast<float>(bits << 16), actual = decode(Element::bf16, bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      EXPECT_EQ(actual, expected) << bits;
    }
  }
}

TEST(Element, EncodeInvertsDecode) {
  for (const Element type : {Element::f16, Element::bf16}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const double value = decode(type, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(stored(type, value))) << name_of(type) << ' ' << bits;
      } else {
        EXPECT_EQ(encode(type, value), bits) << name_of(type);
      }
    }
  }
}

// Halfway between two neighbours goes to the even pattern, anything off halfway to the nearer one.
TEST(Element, RoundsToNearestEven) {
  for (const Element type : {Element::f16, Element::bf16}) {
    const std::uint32_t infinity = encode(type, std::numeric_limits<double>::infinity());
    for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
      const double low = decode(type, bits), high = decode(type, bits + 1);
      const double middle = low + (high - low) / 2;
      EXPECT_EQ(encode(type, middle), bits + bits % 2) << name_of(type);
      EXPECT_EQ(encode(type, std::nextafter(middle, 0)), bits) << name_of(type);
      EXPECT_EQ(encode(type, -std::nextafter(middle, 1e300)), encode(type, -0.0) | (bits + 1))
          << name_of(type);
    }
  }
}

TEST(Element, OverflowIsInfinite) {
  EXPECT_EQ(stored(Element::f16, 65519), 65504);
  EXPECT_TRUE(std::isinf(stored(Element::f16, 65520)));
  EXPECT_TRUE(std::isinf(stored(Element::bf16, -3.4e38)));
  EXPECT_TRUE(std::isinf(stored(Element::f32, 3.5e38)));
}

TEST(HostTensor, LaysOutAsAsked) {
  const Dims dims = {2, 3, 4, 5};
  EXPECT_EQ(channels_first(dims), (Dims{60, 20, 5, 1}));
  EXPECT_EQ(channels_last(dims), (Dims{60, 1, 15, 3}));
  EXPECT_EQ(channels_last({2, 3, 4, 5, 6}), (Dims{360, 1, 90, 18, 3}));
  EXPECT_EQ(HostTensor(Element::f16, dims).bytes(), 240u);
}

TEST(HostTensor, ElementsNeverOverlap) {
  Random random;
  for (int round = 0; round < 20; ++round) {
    const Dims dims = {2, 3, random.between(1, 4), random.between(1, 5)};
    for (const Dims& strides : {padded(dims, random), permuted(dims, random)}) {
      HostTensor tensor(Element::bf16, dims, strides, 3);
      std::vector<double> numbers(static_cast<std::size_t>(tensor.elements()));
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
      tensor.set_values(numbers);
      EXPECT_EQ(tensor.values(), numbers) << to_text(strides);
      EXPECT_EQ(tensor.damage(), "");
    }
  }
}

TEST(HostTensor, NoticesWritesOutsideItsElements) {
  const Dims dims = {1, 2, 2, 2}, gapped = {16, 8, 4, 1};
  for (const std::int64_t offset : {-1, 2, 3, 13, 14, 14 + 60, -60}) {
    HostTensor tensor(Element::f32, dims, gapped);
    EXPECT_EQ(tensor.damage(), "");
    static_cast<float*>(tensor.data())[offset] = 1;
    const bool inside = offset == 13;
    EXPECT_EQ(tensor.damage().empty(), inside) << offset;
  }
}

TEST(HostTensor, UnwrittenElementsAreNaN) {
  for (const Element type : {Element::f16, Element::f32, Element::bf16}) {
    const HostTensor tensor(type, {1, 2, 3, 3}), copy = tensor;
    for (const double value : copy.values()) EXPECT_TRUE(std::isnan(value)) << name_of(type);
  }
}

TEST(HostTensor, MisalignsOnRequest) {
  const HostTensor aligned(Element::f32, {1, 1, 1, 4});
  const HostTensor odd(Element::f32, {1, 1, 1, 4}, {4, 4, 4, 1}, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(odd.data()) % 64, 4u);
}

TEST(Random, RepeatsWithItsSeedAndCoversItsRange) {
  Random a(1, 2), b(1, 2), other(1, 3);
  bool differs = false;
  int negative = 0;
  for (int i = 0; i < 1000; ++i) {
    const double value = a.uniform(-1, 1);
    EXPECT_EQ(value, b.uniform(-1, 1));
    EXPECT_GE(value, -1);
    EXPECT_LT(value, 1);
    differs |= value != other.uniform(-1, 1);
    negative += value < 0;
  }
  EXPECT_TRUE(differs);
  EXPECT_GT(negative, 400);
  EXPECT_LT(negative, 600);
}

}  // namespace
}  // namespace fuseplan::test
