// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "emit_kernel.hpp"
#include "expr/passes.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/direct/recipe.hpp"
#include "kernels/cpu/direct/schedule.hpp"

namespace fuseplan::test {
namespace {

using cpu::Block;
using cpu::DirectPlan;
using cpu::Schedule;

struct Case {
  const char* problem;
  bool tiles_first;
  const char* why;
};
constexpr Case kCases[] = {
    {"f32:5x160x9x13:nhwc;conv(f32:368x160x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=1)"
     "->f32:5x368x9x13:nhwc",
     true, "2.1 MB of weights, 0.4 of input"},
    {"f32:1x160x9x13:nhwc;conv(f32:368x160x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=1)"
     "->f32:1x368x9x13:nhwc",
     false, "a single block"},
    {"f32:5x160x9x13:nchw;conv(f32:368x160x3x3:nchw,pad=1x1,stride=1x1,dilation=1x1,groups=1)"
     "->f32:5x368x9x13:nchw",
     false, "each block is copied"},
    {"f32:3x40x31x33:nhwc;conv(f32:70x40x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=1)"
     "->f32:3x70x31x33:nhwc",
     false, "few weights"},
    {"f32:2x480x9x20:nhwc;conv(f32:576x160x3x3:nhwc,pad=1x1,stride=2x1,dilation=1x1,groups=3)"
     "->f32:2x576x5x20:nhwc",
     false, "groups"},
    {"f32:1x480x2x300:nhwc;conv(f32:128x480x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=1)"
     "->f32:1x128x2x300:nhwc",
     true, "rows of a few blocks"},
    {"f32:2x160x3x5x7:ndhwc;conv(f32:128x160x3x3x3:ndhwc,pad=1x1x1,stride=1x1x1,dilation=1x1x1,"
     "groups=1)->f32:2x128x3x5x7:ndhwc",
     true, "planes"},
    {"f32:2x40x3x5x900:ndhwc;conv(f32:100x40x3x3x3:ndhwc,pad=1x1x1,stride=1x1x1,dilation=1x1x1,"
     "groups=1)->f32:2x100x3x5x900:ndhwc",
     false, "planes and long rows"},
    {"f32:2x240x40x60:nhwc;conv(f32:240x80x1x1:nhwc,pad=0x0,stride=1x1,dilation=1x1,groups=3)"
     "->f32:2x240x40x60:nhwc",
     false, "groups in turn"},
    {"f32:2x48x5x3000:nhwc;conv(f32:288x16x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=3)"
     "->f32:2x288x5x3000:nhwc",
     false, "groups in turn and long rows"},
    {"f32:2x24x3x90x40:ndhwc;conv(f32:288x8x3x3x3:ndhwc,pad=1x1x1,stride=1x2x1,dilation=1x1x1,"
     "groups=3)->f32:2x288x3x45x40:ndhwc",
     false, "groups in turn and planes"},
};

DirectPlan plan_of(const Problem& problem) {
  const SplitChain chain = optimize(lower(problem), {});
  const cpu::Target target(cpu::Isa::avx512);
  return cpu::direct_plan(cpu::direct_shape(problem, chain), chain, target,
                          cpu::direct_configs(problem, target).front());
}

struct Unit {
  Block block;
  std::int64_t tile;
};

std::vector<Unit> units_of(const Schedule& schedule, int part) {
  std::vector<Unit> units;
  schedule.for_each_unit(part, [&](const Block& block, std::int64_t tile) {
    units.push_back({block, tile});
  });
  return units;
}

TEST(DirectSchedule, EveryRowIsInOnePart) {
  for (const Case& row : kCases) {
    const Problem problem = parse_problem(row.problem);
    const DirectPlan plan = plan_of(problem);
    for (const bool raw : {false, true})
      for (const int threads : {1, 2, 3, 8}) {
        SCOPED_TRACE(fmt::format("{} by {}{}", row.problem, threads, raw ? ", raw" : ""));
        const Schedule schedule(plan, threads, raw);
        using Row = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::size_t,
                               std::int64_t>;
        std::set<Row> seen;
        std::int64_t all = 0, most_of_a_unit = 0, most_of_a_row = 0;
        std::vector<std::int64_t> of_part(static_cast<std::size_t>(schedule.parts()));
        for (int part = 0; part < schedule.parts(); ++part)
          for (const auto& [block, tile] : units_of(schedule, part)) {
            const std::int64_t line = block.columns * plan.vectors_of(tile);
            ASSERT_GT(block.rows, 0);
            EXPECT_LE(block.rows, schedule.rows());
            for (std::int64_t y = block.row; y < block.row + block.rows; ++y)
              EXPECT_TRUE(
                  seen.emplace(block.image, block.group, block.plane, y, block.strip, tile).second);
            of_part[static_cast<std::size_t>(part)] += block.rows * line;
            most_of_a_unit = std::max(most_of_a_unit, block.rows * line);
            most_of_a_row = std::max(most_of_a_row, line);
            all += block.rows * line;
          }
        const cpu::ConvGeometry& conv = plan.shape.conv;
        std::int64_t vectors = 0;
        for (std::int64_t tile = 0; tile < plan.tiles_of_channels; ++tile)
          vectors += plan.vectors_of(tile);
        EXPECT_EQ(all, conv.output.len[0] * conv.groups * conv.output.len[2] * conv.output.len[3] *
                           conv.output.len[4] * vectors);
        // Both ends are the nearest there are.
        const std::int64_t grain = plan.staged || raw ? most_of_a_unit : most_of_a_row;
        for (const std::int64_t work : of_part)
          EXPECT_NEAR(static_cast<double>(work), static_cast<double>(all) / schedule.parts(),
                      static_cast<double>(grain));
      }
  }
}

TEST(DirectSchedule, GroupsOfABlockTakeTurns) {
  const struct {
    const char* problem;
    bool in_turn;
    const char* why;
  } cases[] = {
      {"f32:2x240x40x60:nhwc;conv(f32:240x80x1x1:nhwc,groups=3)", true, "lines are shared"},
      {"f32:2x480x60x60:nhwc;conv(f32:480x160x3x3:nhwc,pad=1x1,groups=3)", false, "many weights"},
  };
  for (const auto& [text, in_turn, why] : cases) {
    const DirectPlan plan = plan_of(parse_problem(text));
    const std::vector<Unit> units = units_of(Schedule(plan, 1), 0);
    const auto is_next = [&](std::size_t i) {
      return units[i].block.group == units[i - 1].block.group + 1;
    };
    int turns = 0, blocks = 0;
    for (std::size_t i = 1; i < units.size(); ++i) {
      if (units[i].block == units[i - 1].block) continue;
      ++blocks;
      const bool same_rows = units[i].block.row == units[i - 1].block.row &&
                             units[i].block.image == units[i - 1].block.image;
      turns += same_rows && is_next(i) ? 1 : 0;
    }
    EXPECT_GT(blocks, 11) << why;
    EXPECT_EQ(turns, in_turn ? (blocks + 1) / 3 * 2 : 0) << why;
  }
}

// What is copied or packed for a unit is made once.
TEST(DirectSchedule, UnitsThatSomethingIsMadeForAreNotDivided) {
  for (const Case& row : kCases)
    for (const bool raw : {false, true}) {
      const DirectPlan plan = plan_of(parse_problem(row.problem));
      if (!plan.staged && !raw) continue;
      SCOPED_TRACE(fmt::format("{}{}", row.problem, raw ? ", raw" : ""));
      const Schedule schedule(plan, 3, raw);
      std::int64_t units = 0;
      std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::size_t>>
          blocks;
      for (int part = 0; part < schedule.parts(); ++part)
        for (const auto& [block, tile] : units_of(schedule, part)) {
          ++units;
          blocks.emplace(block.image, block.group, block.plane, block.row, block.strip);
        }
      EXPECT_EQ(units, std::ssize(blocks) * plan.tiles_of_channels);
    }
}

TEST(DirectSchedule, ReadsWeightsOrInputOnce) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.why);
    const DirectPlan plan = plan_of(parse_problem(row.problem));
    ASSERT_GT(plan.tiles_of_channels, 1);
    const std::vector<Unit> units = units_of(Schedule(plan, 1), 0);
    std::int64_t new_tiles = 0, new_blocks = 0;
    for (std::size_t i = 1; i < units.size(); ++i) {
      new_tiles += units[i].tile != units[i - 1].tile;
      new_blocks += !(units[i].block == units[i - 1].block);
    }
    if (row.tiles_first)
      EXPECT_EQ(new_tiles, plan.tiles_of_channels - 1);
    else
      EXPECT_EQ(new_blocks, std::ssize(units) / plan.tiles_of_channels - 1);
  }
}

// Weights that are others at every call are packed once a unit.
TEST(DirectSchedule, RawWeightsDoNotChangeTheOrderOfBlocks) {
  const DirectPlan plan = plan_of(parse_problem(kCases[0].problem));
  const std::vector<Unit> units = units_of(Schedule(plan, 1, true), 0);
  EXPECT_EQ(units[1].tile, 1);
  EXPECT_EQ(units[0].block, units[1].block);
}

TEST(DirectSchedule, ResultsDoNotDependOnIt) {
  Random random{22};
  const ConvCase shape{{5, 160, 9, 13}, {368, 160, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}};
  const Problem problem = conv_problem(shape, {DType::f32, DType::f32, Strides::channels_last},
                                       Tail::everything, random);
  const KernelCase test(problem, random);
  const FlushDenormals flush;
  for (const cpu::Target& target : vector_targets())
    for (const cpu::DirectConfig& config : direct_configs(problem, target)) {
      const auto recipe = direct_recipe(problem, test.chain(), target, config);
      EXPECT_TRUE(test.check(test.run(*recipe, 1))) << to_text(config);
      EXPECT_TRUE(test.check(test.run(*recipe, 3))) << to_text(config);
    }
}

}  // namespace
}  // namespace fuseplan::test
