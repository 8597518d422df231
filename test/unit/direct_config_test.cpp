// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "base/status.hpp"
#include "expr/passes.hpp"
#include "kernels/cpu/direct/recipe.hpp"

namespace fuseplan::cpu {
namespace {

constexpr const char* kResidual =
    "f32:1x64x28x28:nhwc;conv(f32:72x64x3x3:nhwc,"
    "pad=1x1,stride=1x1,dilation=1x1,groups=1);"
    "activation(relu)->f32:1x72x28x28:nhwc";

SplitChain chain_of(const Problem& problem) { return optimize(lower(problem), {}); }

TEST(DirectConfig, TextReadsBack) {
  for (const DirectConfig& config : direct_configs(parse_problem(kResidual), Isa::avx512))
    EXPECT_EQ(parse_direct_config(to_text(config)), config) << to_text(config);
  std::string pairs = kResidual;
  for (std::size_t at; (at = pairs.find("f32")) != std::string::npos;) pairs.replace(at, 3, "bf16");
  const auto configs =
      direct_configs(parse_problem(pairs), {Isa::avx512, {.bf16 = true, .fast_bf16 = true}});
  EXPECT_TRUE(configs.front().pairs);
  EXPECT_TRUE(std::ranges::any_of(configs, [](const DirectConfig& c) { return !c.pairs; }));
  for (const DirectConfig& config : configs)
    EXPECT_EQ(parse_direct_config(to_text(config)), config) << to_text(config);
}

TEST(DirectConfig, PairsOnlyWhereTheyCanBeMultiplied) {
  const Problem problem = parse_problem(kResidual);
  DirectConfig config = direct_configs(problem, Isa::avx512).front();
  config.pairs = true;
  EXPECT_THROW(direct_recipe(problem, chain_of(problem), {Isa::avx512, {.bf16 = true}}, config),
               Error);
}

TEST(DirectConfig, OtherTextIsRefused) {
  for (const char* text : {"", "14x2", "14x2,block=1,chunk=1,staged=0,pairs=0",
                           "14x2,block=1,chunk=1,staged=0,pairs=2", "14x2,block=1,chunk=1,staged=2",
                           "14x2,block=0,chunk=1,staged=0", "014x2,block=1,chunk=1,staged=0",
                           "-1x2,block=1,chunk=1,staged=0", "14x2,block=1,chunk=1,staged=0 ",
                           "14x2,block=99999999999999999999,chunk=1,staged=0"})
    EXPECT_EQ(parse_direct_config(text), std::nullopt) << text;
}

// Weights that no cache keeps are read once a block: at a stride, a single tap leaves out most of
// the input, so that an image of 7 x 7 pixels is one.
TEST(DirectConfig, BlocksCountWhatATapReads) {
  const auto block = [](const char* text) {
    return direct_configs(parse_problem(text), Isa::avx512).front().block;
  };
  EXPECT_GE(block("f16:1x1024x14x14:nhwc;conv(f16:2048x1024x1x1,stride=2x2)"), 49);
  EXPECT_GE(block("f16:1x1024x14x14;conv(f16:2048x1024x1x1,stride=2x2)"), 49);
  EXPECT_LT(block("f16:1x1024x14x14:nhwc;conv(f16:2048x1024x3x3,stride=2x2,pad=1x1)"), 49);
}

// Where little is summed, tiles and blocks are such that outputs are written in order.
TEST(DirectConfig, ShortSumsWriteLongRuns) {
  const auto first = [](const char* text, Isa isa) {
    return direct_configs(parse_problem(text), isa).front();
  };
  constexpr const char* kStem = "f32:1x3x224x224:nhwc;conv(f32:64x3x3x3,pad=1x1)";
  EXPECT_EQ(first(kStem, Isa::avx512).vectors, 4);
  EXPECT_EQ(first(kStem, Isa::avx2).vectors, 4);
  for (const Isa isa : {Isa::avx2, Isa::avx512})
    EXPECT_LE(first(kStem, isa).block * (3 + 64) * 4, 256 << 10);
  EXPECT_LT(first("f32:1x64x56x56:nhwc;conv(f32:64x64x3x3,pad=1x1)", Isa::avx512).vectors, 4);
}

// Steps through a tensor are 32 bits of an instruction: longer ones are copied, or refused.
TEST(DirectConfig, LongStepsAreNeverReadInPlace) {
  for (const char* text :
       {"f32:1x32x23200x23200:nchw;conv(f32:64x32x3x3:nchw,pad=1x1,stride=1x1,dilation=1x1,groups="
        "1)"
        "->f32:1x64x23200x23200:nchw",
        "f32:1x64x8x9000000:nhwc;conv(f32:64x64x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,groups=1)"
        "->f32:1x64x8x9000000:nhwc",
        "f32:1x64x40x1000000:nhwc;conv(f32:64x64x3x3:nhwc,pad=9x1,stride=1x1,dilation=9x1,groups=1)"
        "->f32:1x64x40x1000000:nhwc",
        "bf16:1x64x8x18000000:nhwc;conv(bf16:64x64x3x3:nhwc,pad=1x1,stride=1x1,dilation=1x1,"
        "groups=1)->bf16:1x64x8x18000000:nhwc"}) {
    SCOPED_TRACE(text);
    const Problem problem = parse_problem(text);
    const SplitChain chain = chain_of(problem);
    const Target target{Isa::avx512, {.bf16 = true, .fast_bf16 = true}};
    ASSERT_EQ(direct_refusal(problem, chain, target), std::nullopt);
    const auto configs = direct_configs(problem, target);
    EXPECT_TRUE(first_direct_config(problem, target).staged);
    for (DirectConfig config : configs) {
      EXPECT_TRUE(config.staged) << to_text(config);
      config.staged = false;
      config.pairs = problem.input().dtype == DType::bf16;
      EXPECT_THROW(direct_recipe(problem, chain, target, config), Error) << to_text(config);
    }
  }
}

TEST(DirectRecipe, EmitsEqualBytesEachTime) {
  const Problem problem = parse_problem(kResidual);
  const SplitChain chain = chain_of(problem);
  for (Isa isa : {Isa::avx2, Isa::avx512}) {
    const DirectConfig config = direct_configs(problem, isa).front();
    const auto first = direct_recipe(problem, chain, isa, config)->emit();
    const auto second = direct_recipe(problem, chain, isa, config)->emit();
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].name, second[i].name);
      EXPECT_EQ(first[i].code, second[i].code);
    }
  }
}

struct Refusal {
  const char* problem;
  Isa isa;
  const char* words;
};
class DirectRefusal : public ::testing::TestWithParam<Refusal> {};
INSTANTIATE_TEST_SUITE_P(
    Reasons, DirectRefusal,
    ::testing::Values(
        Refusal{"f32:1x8x4x4:nchw;bias(f32:1x8x1x1:nchw)->f32:1x8x4x4:nchw", Isa::avx512,
                "no convolution"},
        Refusal{kResidual, Isa::portable, "AVX2"},
        Refusal{"f32:1x8x4x4:nchw;conv(f32:8x8x1x1:nchw,pad=0x0,stride=1x1,"
                "dilation=1x1,groups=1)"
                "->f32:1x8x4x4:s256,32,8,2",
                Isa::avx2, "contiguous"},
        Refusal{"f32:1x8x4x4:nchw;conv(f32:8x8x3x3:nchw,pad=1x1,stride=1x1,"
                "dilation=1x1,groups=1)"
                ";add(f32:1x8x4x4:s640000000,80000000,20000000,5000000)->f32:1x8x4x4:nchw",
                Isa::avx2, "operand 0 has stride 5000000"}));

TEST_P(DirectRefusal, SaysWhy) {
  const Problem problem = parse_problem(GetParam().problem);
  const auto refusal = direct_refusal(problem, chain_of(problem), GetParam().isa);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_NE(refusal->find(GetParam().words), std::string::npos) << *refusal;
}

}  // namespace
}  // namespace fuseplan::cpu
