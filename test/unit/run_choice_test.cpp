// SPDX-License-Identifier: MIT
// What a tuning result may say, and the shipped tables line by line.
#include "run/choice.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/status.hpp"
#include "expr/passes.hpp"
#include "run/shipped_table.hpp"

namespace fuseplan {
namespace {

constexpr const char* kProblem =
    "f32:1x64x28x28:nhwc;conv(f32:72x64x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=1);"
    "activation(relu)->f32:1x72x28x28:nhwc";
constexpr const char* kHead =
    "f32:1x64x28x28:nhwc;conv(f32:72x64x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=1)";

/// Of the line's cores; shipped tables with tiles list kernels that use them.
cpu::Extensions extensions_of(std::string_view family) {
  const bool tiles = cpu::family_without_tiles(family) != family;
  return {.bf16 = true, .vnni = true, .tiles_bf16 = tiles, .tiles_int8 = tiles};
}

struct Asked {
  explicit Asked(std::string_view text, std::string_view family = "generic")
      : problem(parse_problem(text)), chain(optimize(lower(problem), {})) {
    traits.family = family;
    traits.extensions = extensions_of(family);
  }
  Question question() const { return {problem, chain, traits}; }
  std::vector<const Solver*> accepted() const { return select_solvers(question(), {}).accepted; }

  Traits traits{"cpu", cpu::Isa::avx512};
  Problem problem;
  SplitChain chain;
};

TEST(TuningValue, ReadsBack) {
  const TuningValue value{"cpu_direct:14x2,block=1", {12.5, 15.25, 7}};
  const auto again = parse_tuning_value(to_text(value));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_text(*again), to_text(value));
  EXPECT_EQ(again->times.timed, 7);
}

TEST(TuningValue, OtherTextIsNone) {
  for (const char* text : {"", "x", "x us=1 model_us=2", "x us=1 model_us=2 timed=3 more",
                           "x us=-1 model_us=2 timed=3", "x us=1 model_us=2 timed=three",
                           "x us=1  model_us=2 timed=3", "x us=1e model_us=2 timed=3"})
    EXPECT_FALSE(parse_tuning_value(text)) << text;
}

TEST(Candidates, AreTheDefaultsFirstAndWithoutTheFallback) {
  const Asked asked(kProblem);
  const auto accepted = asked.accepted();
  const auto candidates = candidates_of(asked.question(), accepted);
  ASSERT_GT(candidates.size(), accepted.size());
  std::set<std::string> texts;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_NE(candidates[i].solver->id(), "cpu_portable");
    if (i + 1 < accepted.size()) {
      EXPECT_EQ(candidates[i].solver, accepted[i]);
    }
    EXPECT_TRUE(texts.insert(to_text(candidates[i])).second) << "twice";
    EXPECT_EQ(find_candidate(asked.question(), accepted, to_text(candidates[i])), candidates[i]);
  }
}

// For what its vector kernels do not take, the fallback alone is left.
TEST(Candidates, TheFallbackAloneIsTimed) {
  Asked asked(kProblem);
  asked.traits.isa = cpu::Isa::portable;
  const auto accepted = asked.accepted();
  const auto candidates = candidates_of(asked.question(), accepted);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(to_text(candidates.front()), "cpu_portable:default");
}

TEST(Candidates, AreNeverListedTwice) {
  for (const char* text : {"f32:1x64x28x28:nchw;bias(f32:1x64x1x1)->f32:1x64x28x28:nhwc",
                           "f32:2x128x81x3:nchw;bias(f32:1x128x1x1)->f32:2x128x81x3:nhwc",
                           "f32:16x64x28x28:nhwc;norm(spatial,f32:1x64x1x1);activation(relu)",
                           "f32:16x64x28x28:nhwc;norm_training(spatial,f32:1x64x1x1)",
                           "f32:16x64x28x28:nchw;norm_training(spatial,f32:1x64x1x1)"}) {
    const Asked asked(text);
    std::set<std::string> texts;
    for (const Candidate& candidate : candidates_of(asked.question(), asked.accepted()))
      EXPECT_TRUE(texts.insert(to_text(candidate)).second) << to_text(candidate) << " of " << text;
    EXPECT_GT(texts.size(), 1u) << text;
  }
}

TEST(Candidates, OnlyWhatASolverListsIsFound) {
  const Asked asked(kProblem);
  const auto accepted = asked.accepted();
  for (const char* text : {"", "cpu_direct", "cpu_direct:", "cpu_direct:99x9,block=1,chunk=1",
                           "cpu_depthwise:default", "nobody:x", ":"})
    EXPECT_FALSE(find_candidate(asked.question(), accepted, text)) << text;
}

TEST(ShippedTable, FindsTheWholeTextBeforeItsHead) {
  const std::string table = std::string("\n# comment\n") + kHead + "* cpu_direct:a  # 1 us\n" +
                            kProblem + " cpu_direct:b\n";
  EXPECT_EQ(find_shipped(table, kProblem), "cpu_direct:b");
  EXPECT_EQ(find_shipped(table, std::string(kHead) + ";activation(tanh)->f32:1x72x28x28:nhwc"),
            "cpu_direct:a");
  EXPECT_EQ(find_shipped(table, std::string(kHead) + "->f32:1x72x28x28:nhwc"), "cpu_direct:a");
  EXPECT_EQ(find_shipped(table, "f32:2" + std::string(kProblem).substr(5)), std::nullopt);
  EXPECT_EQ(find_shipped("", kProblem), std::nullopt);
  const auto rows = parse_table(table);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].pattern, std::string(kHead) + "*");
  EXPECT_EQ(rows[0].candidate, "cpu_direct:a");
  for (const char* line : {"x", "x y", "x y:z w"}) EXPECT_THROW(parse_table(line), Error) << line;
}

// A row that its solver would refuse, or whose configuration it no longer lists, chooses nothing.
TEST(ShippedTable, EveryRowNamesAKernelOfToday) {
  std::size_t rows = 0;
  for (const std::string_view family : shipped_families()) {
    std::set<std::string_view> patterns;
    for (const ShippedRow& row : parse_table(shipped_table(family))) {
      SCOPED_TRACE(row.pattern);
      EXPECT_TRUE(patterns.insert(row.pattern).second) << "twice";
      std::string text(row.pattern);
      if (text.ends_with('*')) text.pop_back();
      const Asked asked(text, family);
      // The text must be canonical, or no problem is ever found in the table.
      if (text.size() < row.pattern.size()) {
        EXPECT_EQ(head_of(to_text(asked.problem)), text);
      } else {
        EXPECT_EQ(to_text(asked.problem), text);
      }
      EXPECT_TRUE(find_candidate(asked.question(), asked.accepted(), row.candidate))
          << row.candidate;
      ++rows;
    }
  }
  std::printf("%zu rows\n", rows);
}

TEST(CpuFamily, IsReadOffTheModel) {
  EXPECT_EQ(cpu::family_of({true, 0x19, 0x11}), "zen4");
  EXPECT_EQ(cpu::family_of({true, 0x19, 0x61}), "zen4");
  EXPECT_EQ(cpu::family_of({true, 0x19, 0x21}), "generic") << "Zen 3";
  EXPECT_EQ(cpu::family_of({true, 0x1a, 0x02}), "zen5");
  EXPECT_EQ(cpu::family_of({true, 0x1a, 0x44}), "zen5");
  EXPECT_EQ(cpu::family_of({true, 0x1a, 0x24}), "generic") << "half the width";
  EXPECT_EQ(cpu::family_of({true, 0x1a, 0x80}), "generic") << "Zen 6";
  EXPECT_EQ(cpu::family_of({false, 0x19, 0x11}), "generic");
  EXPECT_EQ(cpu::family_of({false, 0x06, 0xcf}), "sapphire");
  EXPECT_EQ(cpu::family_of({true, 0x06, 0xcf}), "generic");
  EXPECT_EQ(cpu::family_of({false, 0x06, 0xa7}), "generic") << "Rocket Lake";
  EXPECT_EQ(cpu::family_of({false, 0x06, 0xa7, true}), "sapphire")
      << "a model shown by a hypervisor";
  EXPECT_EQ(cpu::family_of({true, 0x1a, 0x80, true}), "generic");
  EXPECT_EQ(cpu::family_of({false, 0x06, 0x8f, true, true}), "sapphire_amx");
  EXPECT_EQ(cpu::family_of({false, 0x06, 0xa7, true, true}), "sapphire_amx");
  EXPECT_EQ(cpu::family_of({true, 0x19, 0x11, true, true}), "zen4");
  EXPECT_EQ(cpu::family_without_tiles("sapphire_amx"), "sapphire");
  EXPECT_EQ(cpu::family_without_tiles("zen4"), "zen4");
}

TEST(IsaLimit, LeavesTheLowerSetsWithTheirExtensions) {
  using cpu::IsaLimit;
  EXPECT_EQ(cpu::limited(cpu::Isa::avx512, IsaLimit::amx), cpu::Isa::avx512);
  EXPECT_EQ(cpu::limited(cpu::Isa::avx512, IsaLimit::avx512), cpu::Isa::avx512);
  EXPECT_EQ(cpu::limited(cpu::Isa::avx512, IsaLimit::avx2_vnni), cpu::Isa::avx2);
  EXPECT_EQ(cpu::limited(cpu::Isa::avx512, IsaLimit::avx2), cpu::Isa::avx2);
  EXPECT_EQ(cpu::limited(cpu::Isa::avx2, IsaLimit::portable), cpu::Isa::portable);
  EXPECT_EQ(cpu::limited(cpu::Isa::avx2, IsaLimit::amx), cpu::Isa::avx2);
  const cpu::Extensions all{true, true, true, true, true, true};
  const auto left = [&](IsaLimit limit) {
    const cpu::Extensions has = cpu::limited(all, limit);
    return std::array{has.bf16,       has.fast_bf16,  has.vnni,
                      has.tiles_bf16, has.tiles_int8, has.avx_vnni};
  };
  EXPECT_EQ(left(IsaLimit::amx), (std::array{true, true, true, true, true, true}));
  EXPECT_EQ(left(IsaLimit::avx512), (std::array{true, true, true, false, false, true}));
  EXPECT_EQ(left(IsaLimit::avx2_vnni), (std::array{false, false, false, false, false, true}));
  EXPECT_EQ(left(IsaLimit::avx2), (std::array{false, false, false, false, false, false}));
}

}  // namespace
}  // namespace fuseplan
