// SPDX-License-Identifier: MIT
#include "base/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/denormals.hpp"
#include "compiler_f16.hpp"
#include "support/element.hpp"

namespace fuseplan {
namespace {

using test::Element;

struct Conversion {
  Element type;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};
constexpr Conversion kConversions[] = {{Element::f16, f16_to_float, float_to_f16},
                                       {Element::bf16, bf16_to_float, float_to_bf16}};

bool is_nan(Element type, std::uint16_t bits) { return std::isnan(test::decode(type, bits)); }

/// The float next above (+1) or below (-1) in magnitude.
float neighbour(float value, int step) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) +
                              static_cast<std::uint32_t>(step));
}

void expect_narrows(const Conversion& c, float value) {
  const std::uint16_t actual = c.narrow(value);
  if (std::isnan(value)) {
    EXPECT_TRUE(is_nan(c.type, actual)) << test::name_of(c.type);
    EXPECT_EQ(actual >> 15, std::signbit(value)) << test::name_of(c.type);
  } else {
    EXPECT_EQ(actual, test::encode(c.type, value)) << test::name_of(c.type) << ' ' << value;
  }
}

void expect_widens_everything(const Conversion& c) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float actual = c.widen(static_cast<std::uint16_t>(bits));
    const auto expected = static_cast<float>(test::decode(c.type, bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << test::name_of(c.type) << ' ' << bits;
      EXPECT_EQ(std::signbit(actual), bits >> 15);
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected))
          << test::name_of(c.type) << ' ' << bits;
    }
  }
}

TEST(Half, WidensEveryPattern) {
  for (const Conversion& c : kConversions) expect_widens_everything(c);
}

TEST(Half, NarrowsFloatsOfEveryExponent) {
  constexpr std::uint32_t kStep = 8191;  // odd: all low bits and all exponents are met
  for (const Conversion& c : kConversions)
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += kStep)
      expect_narrows(c, std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

#ifdef FUSEPLAN_COMPILER_HAS_F16
TEST(Half, WidensF16AsTheCompilerDoes) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto expected = static_cast<float>(std::bit_cast<_Float16>(half));
    if (!std::isnan(expected)) {
      EXPECT_EQ(f16_to_float(half), expected) << bits;
    }
  }
}

TEST(Half, NarrowsF16AsTheCompilerDoes) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 16381) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_f16(value), std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)))
        << value;
  }
}
#endif

// Each representable value, each halfway point between two, and the floats beside both.
TEST(Half, RoundsToNearestEvenEverywhere) {
  for (const Conversion& c : kConversions) {
    for (std::uint32_t bits = 0; bits < 65535; ++bits) {
      const float value = c.widen(static_cast<std::uint16_t>(bits));
      const float next = c.widen(static_cast<std::uint16_t>(bits + 1));
      if (std::isnan(value) || std::isinf(value)) continue;
      expect_narrows(c, value);
      const float middle = std::isinf(next) ? neighbour(value, 1) : value + (next - value) / 2;
      for (const int step : {-1, 0, 1}) expect_narrows(c, neighbour(middle, step));
    }
  }
}

TEST(Half, OverflowsToInfinityFromHalfAnUlpAbove) {
  EXPECT_EQ(float_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(float_to_bf16(neighbour(std::bit_cast<float>(0x7f7f8000u), -1)), 0x7f7f);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x7f7f8000u)), 0x7f80);
}

// Kernels convert with denormals flushed; f16 subnormals are not f32 denormals and must survive.
TEST(Half, F16DoesNotDependOnTheDenormalMode) {
  const FlushDenormals flush;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (is_nan(Element::f16, half)) continue;
    EXPECT_EQ(float_to_f16(f16_to_float(half)), half);
  }
}

TEST(FlushDenormals, FlushesAndRestores) {
  volatile float tiny = 1e-38f, tenth = 0.1f;
  EXPECT_GT(tiny * tenth, 0.0f);
#if defined(__SSE__)
  {
    const FlushDenormals flush;
    EXPECT_EQ(tiny * tenth, 0.0f);
    {
      const FlushDenormals nested;
      EXPECT_EQ(tiny * tenth, 0.0f);
    }
    EXPECT_EQ(tiny * tenth, 0.0f);
  }
#endif
  EXPECT_GT(tiny * tenth, 0.0f);
}

#if defined(__SSE__)
template <typename Mode>
void expect_nearest_for_its_life() {
  constexpr unsigned kUpward = 0x4000, kTrapsOfOverflow = 0x0400, kInexact = 0x0020;
  const unsigned before = _mm_getcsr();
  const unsigned callers = (before | kUpward | kInexact) & ~kTrapsOfOverflow;
  _mm_setcsr(callers);
  {
    const Mode mode;
    EXPECT_EQ(_mm_getcsr() & ~0x8040u, 0x1f80u);
  }
  EXPECT_EQ(_mm_getcsr(), callers);
  _mm_setcsr(before);
}

TEST(StandardFloats, RoundToNearestWithoutTraps) {
  expect_nearest_for_its_life<StandardFloats>();
  expect_nearest_for_its_life<FlushDenormals>();
}
#endif

}  // namespace
}  // namespace fuseplan
