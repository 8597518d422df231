// SPDX-License-Identifier: MIT
// Which tiles grouped kernels prefer, and how much code they make.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "expr/passes.hpp"
#include "kernels/cpu/grouped/recipe.hpp"
#include "plan/problem.hpp"

namespace fuseplan::test {
namespace {

using cpu::Isa;

// Of channels in lanes, every line comes from behind the first-level cache: tiles that are nearly
// square load the fewest for an output.
TEST(GroupedConfig, ChannelsInLanesPreferSquareTiles) {
  for (const char* text : {"f32:1x192x28x28:nhwc;conv(f32:192x1x3x3,pad=1x1,groups=192)",
                           "f32:1x576x14x14:nhwc;conv(f32:576x1x3x3,pad=1x1,groups=576)"}) {
    const Problem problem = parse_problem(text);
    const cpu::GroupedConfig best =
        grouped_configs(problem, optimize(lower(problem), {}), Isa::avx512).front();
    EXPECT_LE(best.columns, 3 * best.rows) << to_text(best) << " of " << text;
    EXPECT_GE(best.columns * 3, best.rows) << to_text(best) << " of " << text;
  }
}

// Measured, but for strided input on a Zen 5, which is as it was: hardware fetches small inputs in
// time, and Intel's strided ones. Both ways are among those that tuning times.
TEST(GroupedConfig, AsksAheadForWhatComesLate) {
  struct Row {
    const char *text, *line;
    bool ahead;
  };
  const Row rows[] = {
      {"f32:1x144x56x56:nhwc;conv(f32:144x1x3x3,pad=1x1,groups=144)", "zen5", false},
      {"f32:16x144x56x56:nhwc;conv(f32:144x1x3x3,pad=1x1,groups=144)", "zen5", true},
      {"f32:16x144x56x56:nhwc;conv(f32:144x1x3x3,pad=1x1,groups=144)", "sapphire", true},
      {"f32:16x192x28x28:nhwc;conv(f32:192x1x3x3,pad=1x1,stride=2x2,groups=192)", "sapphire",
       false},
      {"f32:16x96x112x112:nhwc;conv(f32:96x1x3x3,pad=1x1,stride=2x2,groups=96)", "sapphire", false},
      {"f32:16x96x112x112:nhwc;conv(f32:96x1x3x3,pad=1x1,stride=2x2,groups=96)", "zen5", true},
      {"f32:16x144x56x56:nchw;conv(f32:144x1x3x3,pad=1x1,groups=144)", "zen5", false},
  };
  for (const auto& [text, line, ahead] : rows) {
    const Problem problem = parse_problem(text);
    const auto configs =
        grouped_configs(problem, optimize(lower(problem), {}), Isa::avx512, cpu::core_rates(line));
    EXPECT_EQ(configs.front().ahead, ahead) << text << " on " << line;
    cpu::GroupedConfig other = configs.front();
    other.ahead = !other.ahead;
    const bool large = problem.input().lens[0] == 16 && problem.input().strides[1] == 1;
    EXPECT_EQ(std::ranges::count(configs, other), large ? 1 : 0) << text;
  }
}

// What lies between the pixels that a tile reads, and beside those it writes, makes no code.
TEST(GroupedCode, IsBoundedByWhatATileReads) {
  const std::tuple<const char*, const char*> cases[] = {
      {"strides, channels in lanes",
       "f32:1x16x1024x1024:nhwc;conv(f32:16x1x3x3,pad=1x1,stride=128x128,groups=16)"},
      {"strides, columns in lanes",
       "f32:1x32x65536x14:nchw;conv(f32:32x1x3x3,pad=1x1,stride=8192x1,groups=32)"},
      {"an output of one column far from the next",
       "f32:1x160x9x3:nchw;conv(f32:240x16x3x3,pad=1x0,groups=10)->f32:1x240x9x1:s2160000,9000,"
       "1000,500"},
  };
  for (const auto& [why, text] : cases) {
    SCOPED_TRACE(why);
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    if (const auto refusal = grouped_refusal(problem, chain, Isa::avx512)) {
      ADD_FAILURE() << *refusal;
      continue;
    }
    for (const cpu::GroupedConfig& config : grouped_configs(problem, chain, Isa::avx512)) {
      std::size_t bytes = 0;
      for (const cpu::Function& function :
           cpu::grouped_recipe(problem, chain, Isa::avx512, config)->emit())
        bytes += function.code.size();
      EXPECT_LT(bytes, std::size_t{64} << 10) << to_text(config);
    }
  }
}

TEST(GroupedConfig, ReadsBackWhatItWrites) {
  EXPECT_EQ(cpu::parse_grouped_config(to_text(cpu::GroupedConfig{3, 7})),
            (cpu::GroupedConfig{3, 7}));
  EXPECT_EQ(cpu::parse_grouped_config(to_text(cpu::GroupedConfig{3, 7, true})),
            (cpu::GroupedConfig{3, 7, true}));
  for (const char* text :
       {"", "3", "3x", "x7", "0x4", "3x-1", "03x7", "3x7 ", "3x7,ahead=2", "3x7,", "3x7,ahead "})
    EXPECT_EQ(cpu::parse_grouped_config(text), std::nullopt) << text;
}

}  // namespace
}  // namespace fuseplan::test
