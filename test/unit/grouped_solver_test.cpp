// SPDX-License-Identifier: MIT
// What cpu_grouped and cpu_depthwise take, and when they stand before others.
#include <gtest/gtest.h>

#include <string>

#include "expr/passes.hpp"
#include "plan/problem.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {
namespace {

using cpu::Isa;

TEST(GroupedSolver, OffersItOnBothSets) {
  for (const char* text : {"f32:1x32x9x9:nhwc;conv(f32:32x4x3x3,pad=1x1,groups=8)",
                           "f32:1x35x9x9:nchw;conv(f32:21x5x3x3,pad=1x1,groups=7)"})
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
      const Problem problem = parse_problem(text);
      const SplitChain chain = optimize(lower(problem), {});
      Verdict verdict("cpu_grouped");
      find_solver("cpu_grouped")
          ->accepts({problem, chain, {.backend = "cpu", .isa = isa}}, verdict);
      EXPECT_TRUE(verdict.accepted()) << cpu::name_of(isa) << " " << text;
    }
}

/// The solvers that take it, first to last, in one line.
std::string takers(const std::string& text, const SolverFilter& filter = {},
                   const Traits& traits = {.backend = "cpu", .isa = Isa::avx2}) {
  const Problem problem = parse_problem(text);
  const SplitChain chain = optimize(lower(problem), {});
  std::string all;
  for (const Solver* solver : select_solvers({problem, chain, traits, &filter}, filter).accepted)
    all += (all.empty() ? "" : " ") + std::string(solver->id());
  return all;
}

// Groups of bytes with many inputs and outputs are left to cpu_int8, and to cpu_grouped where that
// cannot run them.
TEST(GroupedSolver, LeadsForSmallGroupsOfBytes) {
  EXPECT_EQ(takers("u8:1x32x9x9:nhwc;conv(i8:32x4x3x3,groups=8)"),
            "cpu_grouped cpu_int8 cpu_portable");
  EXPECT_EQ(takers("u8:1x8x9x9:nchw;conv(i8:8x1x3x3,groups=8)"),
            "cpu_depthwise cpu_int8 cpu_portable");
  EXPECT_EQ(takers("u8:1x1x28x28:nchw;conv(i8:32x1x5x5,pad=2x2)"),
            "cpu_int8 cpu_grouped cpu_depthwise cpu_portable");
  EXPECT_EQ(takers("u8:1x32x9x9:nchw;conv(i8:32x8x3x3,groups=4)"),
            "cpu_int8 cpu_grouped cpu_portable");
  EXPECT_EQ(takers("u8:1x32x9x9:nchw;conv(i8:32x8x3x3,groups=4)",
                   {.pinned = {}, .disabled = {"cpu_int8"}}),
            "cpu_grouped cpu_portable");
  EXPECT_EQ(takers("f32:1x32x9x9:nchw;conv(f32:32x8x3x3,groups=4)"),
            "cpu_direct cpu_grouped cpu_portable");
}

// What cpu_int8's vectors have of a group, whose outputs they are, against lanes of several groups.
TEST(GroupedSolver, LeadsWhereVectorsOfAGroupAreShort) {
  const Traits avx512{
      .backend = "cpu", .isa = Isa::avx512, .extensions = {.vnni = true}, .family = "sapphire"};
  const auto leads = [&](const char* text) {
    return takers(text, {}, avx512).starts_with("cpu_grouped");
  };
  EXPECT_TRUE(leads("u8:1x16x28x28:nhwc;conv(i8:128x1x3x3,pad=1x1,groups=16)"));
  EXPECT_TRUE(leads("u8:1x64x28x28:nhwc;conv(i8:128x4x3x3,pad=1x1,groups=16)"));
  EXPECT_TRUE(leads("u8:1x256x28x28:nchw;conv(i8:256x8x3x3,pad=1x1,groups=32)"));
  EXPECT_TRUE(leads("u8:1x128x28x28:nchw;conv(i8:128x16x1x1,groups=8)"));
  EXPECT_FALSE(leads("u8:1x256x28x28:nhwc;conv(i8:256x8x3x3,pad=1x1,groups=32)"));
  EXPECT_FALSE(leads("u8:1x64x14x14:nhwc;conv(i8:16x16x3x3,pad=1x1,groups=4)"));
  EXPECT_FALSE(leads("u8:1x128x28x28:nchw;conv(i8:128x16x3x3,pad=1x1,groups=8)"));
  EXPECT_FALSE(leads("u8:1x128x28x28:nhwc;conv(i8:128x16x1x1,groups=8)"));
  // Without VNNI an instruction sums two products.
  EXPECT_TRUE(takers("u8:1x256x28x28:nhwc;conv(i8:256x8x3x3,pad=1x1,groups=32)", {},
                     {.backend = "cpu", .isa = Isa::avx512})
                  .starts_with("cpu_grouped"));
}

// A group's outputs are vectors of cpu_direct.
TEST(GroupedSolver, GivesWayWhereOutputsFillVectors) {
  const auto first = [](const char* text, Isa isa) {
    const std::string all = takers(text, {}, {.backend = "cpu", .isa = isa});
    return all.substr(0, all.find(' '));
  };
  const char* const kSixteen = "f32:1x64x28x28%s;conv(f32:64x16x3x3,pad=1x1,groups=4)";
  const char* const kEight = "f32:1x64x28x28%s;conv(f32:64x8x3x3,pad=1x1,groups=8)";
  const auto in = [](std::string text, const char* layout) {
    return text.replace(text.find("%s"), 2, layout);
  };
  for (const char* layout : {":nchw", ":nhwc"}) {
    EXPECT_EQ(first(in(kSixteen, layout).c_str(), Isa::avx512), "cpu_direct");
    EXPECT_EQ(first(in(kEight, layout).c_str(), Isa::avx512), "cpu_grouped");
    EXPECT_EQ(first(in(kEight, layout).c_str(), Isa::avx2), "cpu_direct");
  }
  EXPECT_EQ(first("f32:1x64x28x28;conv(f32:64x16x1x1,groups=4)", Isa::avx512), "cpu_grouped");
  EXPECT_EQ(first("f16:1x64x28x28;conv(f16:64x16x3x3,groups=4)", Isa::avx512), "cpu_grouped");
  EXPECT_EQ(first("f32:1x32x28x28:nhwc;conv(f32:128x4x3x3,groups=8)", Isa::avx512), "cpu_grouped");
}

// Tiles of AMX multiply several groups of bytes as one, and bf16 even where they are part idle.
TEST(GroupedSolver, GivesWayToTiles) {
  const Traits amx{.backend = "cpu",
                   .isa = Isa::avx512,
                   .extensions = {.vnni = true, .tiles_bf16 = true, .tiles_int8 = true},
                   .family = "sapphire_amx"};
  const auto first = [&](const char* text) {
    const std::string all = takers(text, {}, amx);
    return all.substr(0, all.find(' '));
  };
  EXPECT_EQ(first("u8:1x128x28x28:nhwc;conv(i8:128x2x3x3,pad=1x1,groups=64)"), "cpu_matrix");
  EXPECT_EQ(first("i8:1x256x28x28:nhwc;conv(i8:256x8x1x1,groups=32)"), "cpu_matrix");
  EXPECT_EQ(first("u8:1x256x28x28;conv(i8:256x8x3x3,pad=1x1,groups=32)"), "cpu_matrix");
  EXPECT_EQ(first("u8:1x128x28x28;conv(i8:128x4x3x3,pad=1x1,groups=32)"), "cpu_grouped");
  EXPECT_EQ(first("u8:1x128x28x28;conv(i8:128x8x1x1,groups=16)"), "cpu_grouped");
  EXPECT_EQ(first("u8:1x128x28x28:nhwc;conv(i8:128x1x3x3,pad=1x1,groups=128)"), "cpu_depthwise");
  EXPECT_EQ(first("bf16:1x64x28x28;conv(bf16:64x16x3x3,pad=1x1,groups=4)"), "cpu_matrix");
  EXPECT_EQ(first("bf16:1x64x28x28:nhwc;conv(bf16:64x8x3x3,pad=1x1,groups=8)"), "cpu_matrix");
  EXPECT_EQ(first("bf16:1x64x28x28;conv(bf16:64x8x3x3,pad=1x1,groups=8)"), "cpu_grouped");
  EXPECT_EQ(first("bf16:1x64x28x28:nhwc;conv(bf16:64x8x1x1,groups=8)"), "cpu_grouped");
  // But not for a solver that is switched off.
  EXPECT_EQ(takers("bf16:1x64x28x28;conv(bf16:64x16x3x3,pad=1x1,groups=4)",
                   {.pinned = {}, .disabled = {"cpu_matrix"}}, amx)
                .substr(0, 11),
            "cpu_grouped");
  // Seven groups have no share that fills a step.
  EXPECT_EQ(first("u8:1x70x28x28:nhwc;conv(i8:70x10x3x3,pad=1x1,groups=7)"), "cpu_int8");
}

// Before what multiplies vectors of output channels, be it by fewer products or in tiles of AMX.
TEST(GroupedSolver, LeadsForFewChannelsOfOneGroup) {
  const Traits avx512{.backend = "cpu", .isa = Isa::avx512, .family = "sapphire"};
  Traits amx = avx512;
  amx.family = "sapphire_amx";
  amx.extensions = {.bf16 = true, .vnni = true, .tiles_bf16 = true, .tiles_int8 = true};
  const auto first = [](const char* text, const Traits& traits) {
    const std::string all = takers(text, {}, traits);
    return all.substr(0, all.find(' '));
  };
  for (const Traits& traits : {avx512, amx}) {
    EXPECT_EQ(first("f32:1x64x128x128:nchw;conv(f32:8x64x3x3,pad=1x1)", traits), "cpu_grouped");
    EXPECT_EQ(first("f32:1x3x224x224:nchw;conv(f32:64x3x3x3,pad=1x1)", traits), "cpu_grouped");
    EXPECT_EQ(first("f32:1x3x224x224:nchw;conv(f32:32x3x3x3,pad=1x1,stride=2x2)", traits),
              "cpu_grouped");
    EXPECT_NE(first("f32:1x64x128x128:nchw;conv(f32:12x64x3x3,pad=1x1)", traits), "cpu_grouped");
  }
  EXPECT_EQ(first("bf16:1x64x128x128:nchw;conv(bf16:8x64x3x3,pad=1x1)", amx), "cpu_matrix");
  EXPECT_EQ(first("bf16:1x64x128x128:nchw;conv(bf16:1x64x3x3,pad=1x1)", amx), "cpu_grouped");
}

// Sums of bytes that f32 may have to round are left to others.
TEST(GroupedSolver, CountsTheProductsOfASum) {
  const struct {
    const char* solver;
    const char* groups;
  } kSolvers[] = {{"cpu_grouped", "6x1x%s,groups=3"}, {"cpu_depthwise", "3x1x%s,groups=3"}};
  const struct {
    const char* type;
    const char* filter;
    bool fits;
  } kRows[] = {{"u8", "2x257", true},
               {"u8", "5x103", false},
               {"i8", "32x32", true},
               {"i8", "25x41", false},
               // Not all taps find room in the image.
               {"u8", "43x300,pad=21x0", true},
               {"f32", "25x41", true}};
  for (const auto& [solver, groups] : kSolvers)
    for (const auto& [type, filter, fits] : kRows) {
      const std::string image =
          filter == std::string("43x300,pad=21x0") ? ":1x3x1x300" : ":1x3x50x300";
      std::string conv = groups;
      conv.replace(conv.find("%s"), 2, filter);
      const std::string weights = type == std::string("f32") ? "f32:" : "i8:";
      const std::string text = std::string(type) + image + ":nchw;conv(" + weights + conv + ")";
      SCOPED_TRACE(text);
      const Problem problem = parse_problem(text);
      const SplitChain chain = optimize(lower(problem), {});
      Verdict verdict(solver);
      find_solver(solver)->accepts({problem, chain, {.backend = "cpu", .isa = Isa::avx2}}, verdict);
      ASSERT_EQ(verdict.accepted(), fits);
      if (!fits) {
        EXPECT_NE(verdict.rejections().front().sentence().find("exact in f32"), std::string::npos)
            << verdict.rejections().front().sentence();
      }
    }
}

}  // namespace
}  // namespace fuseplan::test
