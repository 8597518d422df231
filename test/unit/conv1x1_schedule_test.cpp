// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "expr/passes.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/conv1x1/config.hpp"
#include "kernels/cpu/conv1x1/schedule.hpp"

namespace fuseplan::test {
namespace {

using cpu::Conv1x1Plan;
using cpu::Conv1x1Schedule;
using cpu::Conv1x1Unit;

struct Case {
  cpu::Isa isa;
  const char* problem;
  const char* config;
  const char* why;
};
constexpr Case kCases[] = {
    {cpu::Isa::avx512, "f32:1x2048x7x7:nhwc;conv(f32:512x2048x1x1:nhwc)->f32:1x512x7x7:nhwc",
     "channels:9x3,block=64,staged=0", "one block, eleven pieces of channels"},
    {cpu::Isa::avx512, "f32:3x40x31x33:nhwc;conv(f32:70x40x1x1:nhwc)->f32:3x70x31x33:nhwc",
     "channels:6x4,block=256,staged=0", "blocks of all images; the last vector is partial"},
    {cpu::Isa::avx512, "f32:3x160x17x19:nchw;conv(f32:370x160x1x1)->f32:3x370x17x19",
     "pixels:8x3,block=96,staged=0", "pixels in vectors, blocks of several images"},
    {cpu::Isa::avx512, "f32:2x300x27x27:nchw;conv(f32:130x300x1x1,stride=2x2)->f32:2x130x14x14",
     "pixels:14x2,block=64,staged=1", "each block is copied"},
    {cpu::Isa::avx512, "f32:6x150x7x7:nchw;conv(f32:240x150x1x1)->f32:6x240x7x7",
     "channels:14x2,block=147,staged=1,images=3", "windows of three images"},
    {cpu::Isa::avx512, "f32:1x512x5x1:nhwc;conv(f32:4096x512x1x1:nhwc)->f32:1x4096x5x1:nhwc",
     "channels:9x3,block=64,staged=0", "a single piece of pixels"},
    {cpu::Isa::avx512, "f32:2x150x19x17:nchw;conv(f32:240x50x1x1,groups=3)->f32:2x240x19x17",
     "pixels:8x3,block=96,staged=0", "groups"},
    {cpu::Isa::avx2, "f32:3x40x31x33:nhwc;conv(f32:70x40x1x1:nhwc)->f32:3x70x31x33:nhwc",
     "channels:6x2,block=256,staged=0", "vectors of 8 lanes"},
};

Conv1x1Plan plan_of(const Case& row) {
  const Problem problem = parse_problem(row.problem);
  const SplitChain chain = optimize(lower(problem), {});
  return cpu::conv1x1_plan(cpu::conv1x1_shape(problem, chain, row.isa), chain,
                           cpu::parse_conv1x1_config(row.config).value());
}

std::vector<Conv1x1Unit> units_of(const Conv1x1Schedule& schedule, int part) {
  std::vector<Conv1x1Unit> units;
  schedule.for_each_unit(part, [&](const Conv1x1Unit& unit) { units.push_back(unit); });
  return units;
}

// Kernels that drain leave an image in scratch, and all of it is moved.
TEST(Conv1x1Schedule, DrainedUnitsAreWholeImages) {
  Conv1x1Plan plan =
      plan_of({cpu::Isa::avx512, "f32:1x120x29x31:nchw;conv(f32:60x120x1x1)->f32:1x60x29x31",
               "pixels:14x2,block=4096,staged=0", ""});
  EXPECT_TRUE(drains_planes(plan));
  drain_output(plan);
  for (const int threads : {1, 2, 3, 8, 64}) {
    const Conv1x1Schedule schedule(plan, threads, false);
    EXPECT_EQ(schedule.parts() > 1, threads > 1);
    std::set<std::int64_t> channels;
    for (int part = 0; part < schedule.parts(); ++part)
      for (const Conv1x1Unit& unit : units_of(schedule, part)) {
        EXPECT_EQ(unit.first, 0);
        EXPECT_EQ(unit.last, plan.pixels.pieces());
        EXPECT_TRUE(channels.insert(unit.channels).second);
      }
    EXPECT_EQ(std::ssize(channels), plan.channels.pieces());
  }
}

TEST(Conv1x1Schedule, OnlySmallRunsOfPlanesDrain) {
  const auto drains = [](const char* problem, const char* config) {
    return drains_planes(plan_of({cpu::Isa::avx512, problem, config, ""}));
  };
  EXPECT_TRUE(drains("f32:2x8x14x14:nchw;conv(f32:64x8x1x1)", "pixels:14x2,block=196,staged=1"));
  EXPECT_FALSE(drains("f32:2x8x14x14:nchw;conv(f32:64x8x1x1)", "pixels:14x2,block=64,staged=1"))
      << "parts of planes";
  EXPECT_FALSE(drains("f32:2x8x28x28:nchw;conv(f32:64x8x1x1)", "pixels:14x2,block=784,staged=0"))
      << "whole lines";
  EXPECT_FALSE(drains("f32:1x3x90x91:nchw;conv(f32:64x3x1x1)", "pixels:14x2,block=8190,staged=0"))
      << "458 KB";
  EXPECT_FALSE(drains("f32:2x8x14x14:nchw;conv(f32:64x8x1x1)", "channels:14x2,block=196,staged=0"))
      << "sums that are turned";
  EXPECT_FALSE(drains("f32:2x8x14x14:nchw;conv(f32:64x8x1x1)->f32:2x64x14x14:s13312,208,14,1",
                      "pixels:14x2,block=196,staged=0"))
      << "gaps between planes";
}

TEST(Conv1x1Schedule, EveryPieceIsInOnePart) {
  for (const Case& row : kCases)
    for (const bool in_passing : {false, true})
      for (const int threads : {1, 2, 3, 8}) {
        SCOPED_TRACE(fmt::format("{}: {} by {}{}", row.why, row.problem, threads,
                                 in_passing ? ", in passing" : ""));
        const Conv1x1Plan plan = plan_of(row);
        const Conv1x1Schedule schedule(plan, threads, in_passing);
        const auto width = [&](std::int64_t piece) {
          return plan.channels.first(piece + 1) - plan.channels.first(piece);
        };
        std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
        std::int64_t most_of_a_unit = 0, most_of_a_piece = 0;
        std::vector<std::int64_t> of_part;
        for (int part = 0; part < schedule.parts(); ++part) {
          std::int64_t& work = of_part.emplace_back();
          for (const Conv1x1Unit& unit : units_of(schedule, part)) {
            EXPECT_LE(unit.last - unit.first, schedule.block());
            for (std::int64_t piece = unit.first; piece < unit.last; ++piece) {
              EXPECT_TRUE(seen.emplace(unit.window, piece, unit.channels).second);
              most_of_a_piece = std::max(
                  most_of_a_piece,
                  (plan.pixels.first(piece + 1) - plan.pixels.first(piece)) * width(unit.channels));
            }
            const std::int64_t here =
                (plan.pixels.first(unit.last) - plan.pixels.first(unit.first)) *
                width(unit.channels);
            work += here;
            most_of_a_unit = std::max(most_of_a_unit, here);
          }
        }
        EXPECT_EQ(std::ssize(seen), plan.windows() * plan.pixels.pieces() * plan.channels.pieces());
        const std::int64_t all = plan.windows() * plan.pixels.first(plan.pixels.pieces()) *
                                 plan.channels.first(plan.channels.pieces());
        const std::int64_t grain = plan.staged || in_passing ? most_of_a_unit : most_of_a_piece;
        for (const std::int64_t work : of_part)
          EXPECT_NEAR(static_cast<double>(work), static_cast<double>(all) / schedule.parts(),
                      static_cast<double>(grain));
      }
}

// A block's input stays near, and what is made for a unit is made once.
TEST(Conv1x1Schedule, ChannelsFollowOneAnother) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.why);
    const Conv1x1Plan plan = plan_of(row);
    for (const bool in_passing : {false, true}) {
      const std::vector<Conv1x1Unit> units = units_of(Conv1x1Schedule(plan, 1, in_passing), 0);
      for (std::size_t i = 0; i < units.size(); ++i) {
        EXPECT_EQ(units[i].channels, static_cast<std::int64_t>(i) % plan.channels.pieces());
        if (units[i].channels == 0) continue;
        EXPECT_EQ(units[i].window, units[i - 1].window);
        EXPECT_EQ(units[i].first, units[i - 1].first);
      }
      if (!in_passing) continue;
      EXPECT_EQ(std::ssize(units), plan.windows() * plan.channels.pieces());
    }
  }
}

TEST(Conv1x1Schedule, PiecesAreDealtIfThereAreEnough) {
  const Conv1x1Plan plan = plan_of(kCases[0]);
  EXPECT_TRUE(cpu::deals_pieces(plan, 1));
  EXPECT_TRUE(cpu::deals_pieces(plan, 2));
  EXPECT_FALSE(cpu::deals_pieces(plan, 8));
}

}  // namespace
}  // namespace fuseplan::test
