// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <numeric>

#include "base/integer.hpp"
#include "expr/passes.hpp"
#include "kernels/cpu/conv1x1/cut.hpp"
#include "kernels/cpu/conv1x1/plan.hpp"
#include "kernels/cpu/conv1x1/recipe.hpp"
#include "kernels/cpu/conv1x1/shape.hpp"

namespace fuseplan::cpu {
namespace {

constexpr const char* kProblem =
    "f32:1x64x28x28:nhwc;conv(f32:72x64x1x1:nhwc,pad=0x0,stride=1x1,dilation=1x1,groups=1);"
    "activation(relu)->f32:1x72x28x28:nhwc";

constexpr Isa kIsas[] = {Isa::avx2, Isa::avx512};

SplitChain chain_of(const Problem& problem) { return optimize(lower(problem), {}); }

TEST(Conv1x1Config, TextReadsBack) {
  const Problem problem = parse_problem(kProblem);
  for (const Isa isa : kIsas)
    for (const Conv1x1Config& config : conv1x1_configs(problem, chain_of(problem), isa))
      EXPECT_EQ(parse_conv1x1_config(to_text(config)), config) << to_text(config);
  const Conv1x1Config windows{true, 14, 2, 196, true, 4};
  EXPECT_EQ(to_text(windows), "channels:14x2,block=196,staged=1,images=4");
  EXPECT_EQ(parse_conv1x1_config(to_text(windows)), windows);
}

TEST(Conv1x1Config, OtherTextIsRefused) {
  for (const char* text :
       {"", "14x2", "14x2,block=1,staged=2", "14x2,block=0,staged=0", "014x2,block=1,staged=0",
        "pixels:-1x2,block=1,staged=0", "lanes:14x2,block=1,staged=0",
        "channels:14x2,block=1,staged=1,images=1", "channels:14x2,block=1,staged=1,images=0",
        "channels:14x2,block=1,staged=0,images=2", "channels:14x2,block=1,staged=1,images=2,",
        "pixels:14x2,block=1,staged=0 ", "pixels:14x2,block=99999999999999999999,staged=0"})
    EXPECT_EQ(parse_conv1x1_config(text), std::nullopt) << text;
}

TEST(Conv1x1Recipe, EmitsEqualBytesEachTime) {
  const Problem problem = parse_problem(kProblem);
  const SplitChain chain = chain_of(problem);
  for (const Isa isa : kIsas)
    for (const Conv1x1Config& config : conv1x1_configs(problem, chain, isa)) {
      const auto first = conv1x1_recipe(problem, chain, isa, config)->emit();
      const auto second = conv1x1_recipe(problem, chain, isa, config)->emit();
      ASSERT_EQ(first.size(), second.size());
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(first[i].name, second[i].name);
        EXPECT_EQ(first[i].code, second[i].code);
      }
    }
}

// Pieces cover the axis, are nearly equal, and those of one kind are alike.
TEST(Conv1x1Cut, CoversTheAxis) {
  for (const int unit : {1, 8, 16})
    for (int most = 1; most < 8; ++most)
      for (std::int64_t length = 1; length < 300; ++length) {
        const Cut cut(length, unit, most);
        std::int64_t at = 0;
        for (std::int64_t piece = 0; piece < cut.pieces(); ++piece) {
          ASSERT_EQ(cut.first(piece), at);
          const int kind = cut.kind(piece), size = cut.kind_size(kind);
          ASSERT_GE(size, 1);
          ASSERT_LE(size, most);
          ASSERT_LE(cut.size() - size, 1);
          ASSERT_LT(piece, cut.kind_end(kind));
          at = cut.end(piece);
          const bool whole = cut.kind_tail(kind) == unit;
          ASSERT_EQ(at - cut.first(piece),
                    (size - 1) * unit + (whole ? unit : cut.kind_tail(kind)));
        }
        ASSERT_EQ(at, length);
      }
}

struct Refusal {
  const char* convolution;
  const char* words;
};
class Conv1x1Refusal : public ::testing::TestWithParam<Refusal> {};
INSTANTIATE_TEST_SUITE_P(
    Reasons, Conv1x1Refusal,
    ::testing::Values(
        Refusal{"f32:8x8x1x3:nchw,pad=0x0,stride=1x1,dilation=1x1,groups=1", "several taps"},
        Refusal{"f32:8x8x1x1:nchw,pad=1x0,stride=1x1,dilation=1x1,groups=1", "padding"}));

TEST_P(Conv1x1Refusal, SaysWhy) {
  const Problem problem =
      parse_problem(std::string("f32:1x8x6x6:nchw;conv(") + GetParam().convolution + ")");
  const auto refusal = conv1x1_geometry_refusal(problem);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_NE(refusal->find(GetParam().words), std::string::npos) << *refusal;
}

TEST(Conv1x1Refusal, OfGroupsWithoutPlanes) {
  const auto walks = [](const char* text) {
    const Problem problem = parse_problem(text);
    return walks_groups(conv1x1_shape(problem, chain_of(problem), Isa::avx2));
  };
  EXPECT_TRUE(walks("f32:1x8x4x4:nchw;conv(f32:8x4x1x1,groups=2)->f32:1x8x4x4"));
  EXPECT_TRUE(walks("f32:1x8x4x4:nhwc;conv(f32:8x8x1x1:nhwc)->f32:1x8x4x4:nhwc"));
  EXPECT_FALSE(walks("f32:1x8x4x4:nhwc;conv(f32:8x4x1x1:nhwc,groups=2)->f32:1x8x4x4:nhwc"));
}

TEST(Conv1x1Refusal, OfLayoutsWithoutRows) {
  const Problem problem = parse_problem(
      "f32:1x8x4x4:nchw;conv(f32:8x8x1x1:nchw,pad=0x0,stride=1x1,dilation=1x1,groups=1)"
      "->f32:1x8x4x4:s256,32,8,2");
  const auto refusal = conv1x1_refusal(problem, chain_of(problem), Isa::avx2);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_NE(refusal->find("contiguous"), std::string::npos) << *refusal;
}

// Of lines that no piece divides.
TEST(Conv1x1Cut, StepIsTheLargestThatAllPiecesEndAt) {
  for (std::int64_t length = 1; length < 130; ++length)
    for (const int unit : {1, 8, 16})
      for (int most = 1; most < 9; ++most) {
        const Cut cut(length, unit, most);
        std::int64_t common = 0;
        for (std::int64_t piece = 1; piece <= cut.pieces(); ++piece)
          common = std::gcd(common, cut.first(piece));
        EXPECT_EQ(cut.step(), common) << length << " " << unit << " " << most;
      }
}

TEST(Conv1x1Cut, FindsThePieceOfAPlace) {
  for (const std::int64_t length : {1, 7, 49, 196, 784, 785, 3136})
    for (const int unit : {1, 8, 16})
      for (const int most : {1, 3, 7, 14}) {
        const Cut cut(length, unit, most);
        for (std::int64_t piece = 0; piece < cut.pieces(); ++piece)
          for (const std::int64_t place : {cut.first(piece), cut.end(piece) - 1})
            EXPECT_EQ(cut.piece_at(place), piece) << length << " " << unit << " " << most;
      }
}

// Whatever the pieces are: an image that was to be one block is not read as two.
TEST(Conv1x1Plan, BlocksAreAsManyAsConfigured) {
  const Problem problem = parse_problem(
      "f32:2x96x7x7:nchw;conv(f32:80x96x1x1:nchw,pad=0x0,stride=1x1,dilation=1x1,groups=1)"
      "->f32:2x80x7x7:nchw");
  const SplitChain chain = chain_of(problem);
  const Conv1x1Shape shape = conv1x1_shape(problem, chain, Isa::avx512);
  for (const bool by_channel : {true, false})
    for (const int size : {1, 2, 3, 5, 9, 14})
      for (const std::int64_t block : {1, 8, 24, 25, 48, 49, 50, 98}) {
        const Conv1x1Plan plan = conv1x1_plan(
            shape, chain, {by_channel, by_channel ? size : 2, by_channel ? 2 : size, block, false});
        const std::int64_t blocks = ceil_div(plan.pixels.pieces(), plan.block);
        EXPECT_LE(blocks, ceil_div(std::int64_t{49}, block)) << to_text(plan.config);
        EXPECT_LE((blocks - 1) * plan.block, plan.pixels.pieces()) << to_text(plan.config);
      }
}

}  // namespace
}  // namespace fuseplan::cpu
