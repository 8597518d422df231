// SPDX-License-Identifier: MIT
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
};

DirectPlan plan_of(const Problem& problem) {
  const SplitChain chain = optimize(lower(problem), {});
  const cpu::Target target(cpu::Isa::avx512);
  return cpu::direct_plan(cpu::direct_shape(problem, chain), chain, target,
                          cpu::direct_configs(problem, target).front());
}

std::int64_t work_of(const DirectPlan& plan, const Block& block, std::int64_t tile) {
  return block.rows * block.columns * plan.vectors_of(tile);
}

TEST(DirectSchedule, EveryUnitIsInOnePart) {
  for (const Case& row : kCases) {
    const Problem problem = parse_problem(row.problem);
    const DirectPlan plan = plan_of(problem);
    for (const int threads : {1, 2, 3, 8}) {
      SCOPED_TRACE(std::string(row.problem) + " by " + std::to_string(threads));
      const Schedule schedule(plan, threads);
      std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::size_t,
                          std::int64_t>>
          seen;
      std::int64_t all = 0, most_of_a_unit = 0;
      std::vector<std::int64_t> of_part(static_cast<std::size_t>(schedule.parts()));
      EXPECT_EQ(schedule.first(0), 0);
      for (int part = 0; part < schedule.parts(); ++part)
        for (auto unit = schedule.first(part); unit < schedule.first(part + 1); ++unit) {
          const Block block = schedule.block(unit);
          const std::int64_t tile = schedule.channel_tile(unit);
          EXPECT_TRUE(
              seen.emplace(block.image, block.group, block.plane, block.row, block.strip, tile)
                  .second);
          const std::int64_t work = work_of(plan, block, tile);
          of_part[static_cast<std::size_t>(part)] += work;
          most_of_a_unit = std::max(most_of_a_unit, work);
          all += work;
        }
      const cpu::ConvGeometry& conv = plan.shape.conv;
      std::int64_t vectors = 0;
      for (std::int64_t tile = 0; tile < plan.tiles_of_channels; ++tile)
        vectors += plan.vectors_of(tile);
      EXPECT_EQ(all, conv.output.len[0] * conv.groups * conv.output.len[2] * conv.output.len[3] *
                         conv.output.len[4] * vectors);
      for (const std::int64_t work : of_part)
        EXPECT_NEAR(static_cast<double>(work), static_cast<double>(all) / schedule.parts(),
                    static_cast<double>(2 * most_of_a_unit));
    }
  }
}

TEST(DirectSchedule, ReadsWeightsOrInputOnce) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.why);
    const DirectPlan plan = plan_of(parse_problem(row.problem));
    ASSERT_GT(plan.tiles_of_channels, 1);
    const Schedule schedule(plan, 1);
    int new_tiles = 0, new_blocks = 0;
    for (auto unit = schedule.first(0) + 1; unit < schedule.first(1); ++unit) {
      new_tiles += schedule.channel_tile(unit) != schedule.channel_tile(unit - 1);
      new_blocks += !(schedule.block(unit) == schedule.block(unit - 1));
    }
    if (row.tiles_first)
      EXPECT_EQ(new_tiles, plan.tiles_of_channels - 1);
    else
      EXPECT_EQ(new_blocks, schedule.first(1) / plan.tiles_of_channels - 1);
  }
}

// Weights that are others at every call are packed once a unit.
TEST(DirectSchedule, RawWeightsDoNotChangeTheOrderOfBlocks) {
  const DirectPlan plan = plan_of(parse_problem(kCases[0].problem));
  const Schedule schedule(plan, 1, true);
  EXPECT_EQ(schedule.channel_tile(1), 1);
  EXPECT_EQ(schedule.block(0), schedule.block(1));
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
