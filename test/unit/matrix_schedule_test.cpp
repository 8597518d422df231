// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernel_case.hpp"
#include "kernels/cpu/direct/shape.hpp"
#include "kernels/cpu/matrix/recipe.hpp"
#include "kernels/cpu/matrix/schedule.hpp"

namespace fuseplan::test {
namespace {

using cpu::matrix_configs;
using cpu::MatrixPlan;
using cpu::MatrixSchedule;
using cpu::MatrixWindow;
using cpu::Product;
using cpu::View;

struct Case {
  const char* problem;
  Product product;
};
constexpr Case kCases[] = {
    {"f32:1x128x1x784:nhwc;conv(f32:512x128x1x1)", Product::f32},
    {"f32:1x512x1x784:nhwc;conv(f32:128x512x1x1)", Product::f32},
    {"f32:1x3x112x112:nhwc;conv(f32:64x3x7x7,pad=3x3)", Product::f32},
    {"f32:1x128x14x56;conv(f32:144x128x1x1)", Product::f32},
    {"bf16:3x64x13x29:nhwc;conv(bf16:90x32x3x3,pad=1x1,groups=2)", Product::bf16},
    {"bf16:1x64x41x301:nhwc;conv(bf16:65x64x1x1)", Product::bf16},
    {"u8:2x64x3x35x37:ndhwc;conv(i8:96x64x3x3x3,pad=1x1x1)->u8:2x96x3x35x37:ndhwc",
     Product::unsigned_bytes},
    // Images that share windows, some of which have one fewer.
    {"bf16:11x512x7x7;conv(bf16:160x512x3x3,pad=1x1)", Product::bf16},
    {"u8:5x512x6x7:nhwc;conv(i8:576x256x3x3,pad=1x1,stride=2x2,groups=2)->u8:5x576x3x4:nhwc",
     Product::unsigned_bytes},
};

// The recipe's first configurations, so the schedule has windows of every kind.
template <typename Check>
void each_plan(const Check& check) {
  for (const Case& row : kCases) {
    const Problem problem = parse_problem(row.problem);
    const SplitChain chain = optimize(lower(problem), {});
    for (const cpu::MatrixConfig& config : matrix_configs(problem, chain)) {
      SCOPED_TRACE(std::string(row.problem) + " " + to_text(config));
      check(matrix_plan(cpu::direct_shape(problem, chain), chain, row.product, config));
    }
  }
}

std::int64_t pixels_of(const MatrixWindow& window) { return window.rows * window.columns; }

// Windows of the first tile of channels, in whichever order they are walked.
std::vector<MatrixWindow> windows_of(const MatrixPlan& plan, const MatrixSchedule& schedule) {
  std::vector<MatrixWindow> windows;
  for (std::int64_t unit = 0; unit < schedule.units(); unit += plan.tiles_of_channels)
    windows.push_back(schedule.window(unit));
  return windows;
}

TEST(MatrixSchedule, EveryPixelIsInOneWindow) {
  each_plan([](const MatrixPlan& plan) {
    const View& output = plan.shape.conv.output;
    for (const int threads : {1, 2, 3, 8}) {
      const MatrixSchedule schedule(plan, threads);
      const std::int64_t planes = output.len[0] * plan.shape.conv.groups * output.len[2];
      std::vector<char> seen(static_cast<std::size_t>(planes * output.len[3] * output.len[4]));
      for (const MatrixWindow& window : windows_of(plan, schedule)) {
        ASSERT_GT(pixels_of(window), 0);
        ASSERT_LE(window.images, plan.block_images);
        ASSERT_LE(window.rows, plan.block_rows);
        ASSERT_LE(window.columns, plan.block_columns);
        for (std::int64_t i = 0; i < window.images * window.rows * window.columns; ++i) {
          const std::int64_t column = window.column + i % window.columns;
          const std::int64_t row = window.row + i / window.columns % window.rows;
          const std::int64_t image = window.image + i / window.columns / window.rows;
          const std::int64_t plane =
              (image * plan.shape.conv.groups + window.group) * output.len[2] + window.plane;
          ++seen.at(
              static_cast<std::size_t>((plane * output.len[3] + row) * output.len[4] + column));
        }
      }
      EXPECT_TRUE(std::ranges::all_of(seen, [](char count) { return count == 1; })) << threads;
    }
  });
}

TEST(MatrixSchedule, PartsAreNearlyEqual) {
  each_plan([](const MatrixPlan& plan) {
    for (const int threads : {1, 2, 3, 8}) {
      const MatrixSchedule schedule(plan, threads);
      EXPECT_EQ(schedule.first(0), 0);
      EXPECT_EQ(schedule.first(schedule.parts()), schedule.units());
      std::vector<std::int64_t> parts;
      std::int64_t largest_unit = 0;
      for (int part = 0; part < schedule.parts(); ++part) {
        std::int64_t work = 0;
        for (std::int64_t unit = schedule.first(part); unit < schedule.first(part + 1); ++unit) {
          const MatrixWindow window = schedule.window(unit);
          const std::int64_t own = window.images * plan.tiles(window.rows, window.columns) *
                                   plan.vectors_of(schedule.channel_tile(unit));
          largest_unit = std::max(largest_unit, own);
          work += own;
        }
        parts.push_back(work);
      }
      const std::int64_t all = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
      for (const std::int64_t work : parts)
        EXPECT_NEAR(static_cast<double>(work), static_cast<double>(all) / schedule.parts(),
                    static_cast<double>(largest_unit))
            << threads;
    }
  });
}

// Weights from behind the second-level cache come once for several images.
TEST(MatrixSchedule, SmallImagesShareWindows) {
  const auto windows = [](const char* text, int threads) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    const MatrixPlan plan = matrix_plan(cpu::direct_shape(problem, chain), chain, Product::bf16,
                                        matrix_configs(problem, chain).front());
    return MatrixSchedule(plan, threads).windows();
  };
  const char *small = "bf16:16x512x7x7:nhwc;conv(bf16:512x512x3x3,pad=1x1)",
             *near = "bf16:16x64x7x7:nhwc;conv(bf16:64x64x3x3,pad=1x1)",
             *large = "bf16:4x64x56x56:nhwc;conv(bf16:64x64x3x3,pad=1x1)";
  EXPECT_EQ(windows(small, 1), 2);
  // Threads share windows rather than read the weights more often.
  EXPECT_EQ(windows(small, 2), 2);
  EXPECT_EQ(windows(near, 1), 16);
  EXPECT_GE(windows(large, 1), 4);
}

// Both threads would stage a window that they share.
TEST(MatrixSchedule, ThreadsShareNoWindowWhereWeightsAreNear) {
  const auto shares = [](const char* text) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    const MatrixPlan plan = matrix_plan(cpu::direct_shape(problem, chain), chain, Product::f32,
                                        matrix_configs(problem, chain).front());
    const MatrixSchedule schedule(plan, 2);
    EXPECT_EQ(schedule.parts(), 2);
    return schedule.first(1) % plan.tiles_of_channels != 0;
  };
  EXPECT_FALSE(shares("f32:1x128x1x784:nhwc;conv(f32:256x128x1x1)"));
  EXPECT_FALSE(shares("f32:1x3x224x224:nhwc;conv(f32:64x3x7x7,pad=3x3,stride=2x2)"));
  // 7 MB of weights are read once, by either.
  EXPECT_TRUE(shares("f32:1x512x1x196:nhwc;conv(f32:2304x512x1x1)"));
}

}  // namespace
}  // namespace fuseplan::test
