// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "expr/passes.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/int8/plan.hpp"
#include "kernels/cpu/int8/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::BytePlan;
using cpu::ByteTileSpec;
using cpu::DotKind;

struct Case {
  const char* problem;
  DotKind dot;
  bool leaves_out;
  const char* why;
};
constexpr Case kCases[] = {
    {"u8:1x64x7x7:nhwc;conv(i8:32x64x3x3:nhwc,pad=1x1)", DotKind::quads, true,
     "bands of two rows and one of a single row"},
    {"u8:1x64x14x14:nhwc;conv(i8:32x64x3x3:nhwc,pad=1x1,stride=2x2)", DotKind::quads, true,
     "no padding is reached on the far sides"},
    {"u8:1x64x9x14:nhwc;conv(i8:32x64x3x3:nhwc,pad=1x1)", DotKind::quads, true, "a row is a tile"},
    {"u8:1x64x12x13:nhwc;conv(i8:32x64x3x3:nhwc,pad=2x0,dilation=2x1)", DotKind::quads, true,
     "padding above and below alone"},
    {"i8:1x64x7x7:nhwc;conv(i8:32x64x3x3:nhwc,pad=1x1)", DotKind::pairs, true, "signed, in pairs"},
    {"i8:1x64x7x7:nhwc;conv(i8:32x64x3x3:nhwc,pad=1x1)", DotKind::quads, false,
     "signed bytes are read as x + 128"},
    {"u8:1x64x56x56:nhwc;conv(i8:32x64x3x3:nhwc,pad=1x1)", DotKind::quads, false,
     "a row is many tiles"},
    {"u8:1x64x7x7:nhwc;conv(i8:32x64x3x3:nhwc)", DotKind::quads, false, "no padding"},
};

constexpr cpu::ByteConfig kQuads{14, 2, 49}, kPairs{9, 2, 49};

BytePlan plan_of(const Case& row) {
  const Problem problem = parse_problem(row.problem);
  const SplitChain chain = optimize(lower(problem), {});
  return cpu::byte_plan(cpu::direct_shape(problem, chain), chain, cpu::Isa::avx512, row.dot,
                        row.dot == DotKind::quads ? kQuads : kPairs);
}

std::int64_t taps_of(const ByteTileSpec& spec) {
  std::int64_t taps = 0;
  for (int pixel = 0; pixel < spec.pixels; ++pixel)
    for (std::int64_t row = 0; row < spec.reduction.rows; ++row)
      for (std::int64_t tap = 0; tap < spec.taps; ++tap) taps += spec.has(pixel, row, tap);
  return taps;
}

TEST(Int8Plan, LeavesOutTapsBesideTheImage) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.why);
    const BytePlan plan = plan_of(row);
    EXPECT_EQ(std::ranges::any_of(plan.variants, &ByteTileSpec::leaves_out), row.leaves_out);
    if (!row.leaves_out) continue;
    std::int64_t taps = 0, inside = 0;
    for (std::int64_t band = 0; band < plan.bands.count; ++band)
      taps += taps_of(plan.variants[plan.bands.of(band)]) * (3 / plan.variants[0].taps);
    const cpu::ConvGeometry& conv = plan.shape.conv;
    for (std::int64_t y = 0; y < conv.output.len[3]; ++y)
      for (std::int64_t x = 0; x < conv.output.len[4]; ++x)
        inside += cpu::taps_inside(conv, 1, y).count() * cpu::taps_inside(conv, 2, x).count();
    EXPECT_EQ(taps, inside);
  }
}

TEST(Int8Plan, BandsNeverDependOnTheHeight) {
  const BytePlan plan = plan_of({"u8:1x4x2000000000x3:nhwc;conv(i8:8x4x3x3:nhwc,pad=1x1)",
                                 DotKind::quads, true, "2 * 10^9 rows"});
  EXPECT_EQ(plan.bands.count, 500000000);
  EXPECT_EQ(plan.variants.size(), 3);
  EXPECT_EQ(plan.bands.of(1), plan.bands.of(499999998));
}

// Taps that the same pixels have are one loop, however many there are.
TEST(Int8Plan, WideFiltersAreNotWrittenOut) {
  for (const char* text : {"u8:1x4x1x16400:nhwc;conv(i8:32x4x1x16384:nhwc,pad=0x5)",
                           "u8:1x4x1x3300:nhwc;conv(i8:32x4x1x1638:nhwc,pad=0x5,dilation=1x2)"}) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    const auto recipe =
        cpu::byte_recipe(problem, chain, cpu::Isa::avx512, DotKind::quads, {28, 1, 64});
    std::size_t bytes = 0;
    for (const cpu::Function& function : recipe->emit()) bytes += function.code.size();
    EXPECT_LT(bytes, std::size_t{64} << 10) << text;
  }
}

// As many kernels as its distance from the border has values would take long to make.
TEST(Int8Plan, FarTapsLeaveOutColumnsOnly) {
  const BytePlan plan =
      plan_of({"u8:1x64x33x13:nhwc;conv(i8:32x64x3x3:nhwc,pad=12x2,dilation=12x2)", DotKind::quads,
               true, "dilated by 12 rows"});
  ASSERT_EQ(plan.variants.size(), 1);
  EXPECT_EQ(plan.variants[0].rows, cpu::TapReach{});
  EXPECT_NE(plan.variants[0].columns, cpu::TapReach{});
}

}  // namespace
}  // namespace fuseplan::test
