// SPDX-License-Identifier: MIT
// What follows from shape and configuration before any code does, on whatever machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/status.hpp"
#include "kernel_case.hpp"
#include "kernels/cpu/matrix/plan.hpp"
#include "kernels/cpu/matrix/recipe.hpp"

namespace fuseplan::test {
namespace {

using cpu::matrix_configs;
using cpu::matrix_recipe;
using cpu::matrix_refusal;

// Whichever is wanted again before the other would push it out of 48 KB stays there.
TEST(MatrixPlan, SparesTheFirstLevelCacheWhatItCannotKeep) {
  using cpu::Far;
  const auto far = [](const char* text, cpu::Product product) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    return matrix_plan(cpu::direct_shape(problem, chain), chain, product,
                       matrix_configs(problem, chain).front())
        .far;
  };
  const auto bytes = [&](const char* text) { return far(text, cpu::Product::unsigned_bytes); };
  const auto halves = [&](const char* text) { return far(text, cpu::Product::bf16); };
  // Both fit.
  EXPECT_EQ(bytes("u8:1x256x7x7:nhwc;conv(i8:64x256x1x1)->u8:1x64x7x7:nhwc"), Far::nothing);
  // Weights stay, and a large window streams past them.
  EXPECT_EQ(bytes("u8:1x256x56x56:nhwc;conv(i8:64x256x1x1)->u8:1x64x56x56:nhwc"), Far::input);
  // A window is one strip, and all weights are wanted by the next.
  EXPECT_EQ(bytes("u8:1x1024x14x14:nhwc;conv(i8:256x1024x1x1)->u8:1x256x14x14:nhwc"), Far::weights);
  EXPECT_EQ(halves("bf16:1x512x28x28:nhwc;conv(bf16:128x512x1x1)"), Far::weights);
  // Many strips share a tile of channels.
  EXPECT_EQ(halves("bf16:1x512x28x28:nhwc;conv(bf16:1024x512x1x1,stride=2x2)"), Far::input);
  // Taps share their input. Few weights stay beside it, more are only passing.
  EXPECT_EQ(halves("bf16:1x48x56x56:nhwc;conv(bf16:48x48x3x3,pad=1x1)"), Far::nothing);
  EXPECT_EQ(halves("bf16:1x128x28x28:nhwc;conv(bf16:128x128x3x3,pad=1x1)"), Far::weights);
  // Several images share them.
  EXPECT_EQ(halves("bf16:16x512x7x7:nhwc;conv(bf16:512x512x3x3,pad=1x1)"), Far::nothing);
}

TEST(MatrixPlan, AsksForTheNextStripsInputWhereItIsFarAndReadOnce) {
  const auto asks = [](const char* text) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    const auto specs = matrix_plan(cpu::direct_shape(problem, chain), chain, cpu::Product::bf16,
                                   matrix_configs(problem, chain).front())
                           .specs();
    return std::ranges::all_of(specs, &cpu::MatrixTileSpec::next_input);
  };
  EXPECT_TRUE(asks("bf16:4x256x56x56:nhwc;conv(bf16:64x256x1x1)"));
  EXPECT_FALSE(asks("bf16:1x256x56x56:nhwc;conv(bf16:64x256x1x1)"));
  EXPECT_FALSE(asks("bf16:4x256x56x56:nhwc;conv(bf16:512x256x1x1)"));
  EXPECT_FALSE(asks("bf16:4x256x56x56:nhwc;conv(bf16:64x256x3x3)"));
}

// A kernel's steps ask for all pixels of its strip, and only where the chain reads vectors there.
TEST(MatrixPlan, AsksForAllThatTheChainReads) {
  const auto plan = [](const std::string& text) {
    const Problem problem = parse_problem("bf16:1x96x56x56:nhwc;conv(bf16:64x96x1x1);" + text);
    const SplitChain chain = optimize(lower(problem), {});
    return matrix_plan(cpu::direct_shape(problem, chain), chain, cpu::Product::bf16,
                       matrix_configs(problem, chain).front());
  };
  for (const cpu::MatrixTileSpec& spec : plan("add(bf16:1x64x56x56:nhwc)").specs()) {
    EXPECT_GE(spec.asked_pixels * spec.steps, spec.tiles * cpu::kTileRows);
    EXPECT_LT((spec.asked_pixels - 1) * spec.steps, spec.tiles * cpu::kTileRows);
  }
  for (const char* chain : {"bias(f32:1x64x1x1)", "add(bf16:1x1x56x56:nhwc)"})
    for (const cpu::MatrixTileSpec& spec : plan(chain).specs())
      EXPECT_EQ(spec.asked_pixels, 0) << chain;
}

/// Of the default configuration.
cpu::TileGrid first_grid(const char* text) {
  const Problem problem = parse_problem(text);
  return matrix_configs(problem, optimize(lower(problem), {})).front().grid;
}

// Where 64 channels of weights stay in the first-level cache; and for bytes, of which four vectors
// are a line, where sums are short or pixels far apart.
TEST(MatrixConfig, WideWhereWeightsStayNearOrLinesAreWhole) {
  const auto is_wide = [](const char* text) { return first_grid(text) == cpu::kWideGrid; };
  EXPECT_TRUE(is_wide("u8:1x64x56x56:nhwc;conv(i8:256x64x1x1)->u8:1x256x56x56:nhwc"));
  EXPECT_TRUE(is_wide("u8:1x512x28x28:nhwc;conv(i8:128x512x1x1)->u8:1x128x28x28:nhwc"));
  EXPECT_TRUE(is_wide("u8:1x64x56x56:nhwc;conv(i8:256x64x1x1)->f32:1x256x56x56:nhwc"));
  EXPECT_TRUE(is_wide("bf16:1x256x56x56:nhwc;conv(bf16:64x256x1x1)->bf16:1x64x56x56:nhwc"));
  EXPECT_TRUE(is_wide("u8:1x512x14x14:nhwc;conv(i8:1024x512x1x1,stride=2x2)->u8:1x1024x7x7:nhwc"));
  EXPECT_TRUE(is_wide("u8:1x256x28x28:nhwc;conv(i8:64x256x1x1,stride=2x2)->u8:1x64x14x14:nhwc"));
  EXPECT_FALSE(
      is_wide("bf16:1x256x28x28:nhwc;conv(bf16:64x256x1x1,stride=2x2)->bf16:1x64x14x14:nhwc"));
  EXPECT_FALSE(is_wide("u8:1x1024x14x14:nhwc;conv(i8:256x1024x1x1)->u8:1x256x14x14:nhwc"));
  EXPECT_FALSE(is_wide("bf16:1x512x28x28:nhwc;conv(bf16:128x512x1x1)->bf16:1x128x28x28:nhwc"));
  EXPECT_FALSE(is_wide("u8:1x128x28x28:nhwc;conv(i8:128x128x3x3,pad=1x1)->u8:1x128x28x28:nhwc"));
  EXPECT_FALSE(is_wide("u8:1x64x56x56:nhwc;conv(i8:48x64x1x1)->u8:1x48x56x56:nhwc"));
  EXPECT_FALSE(is_wide("u8:1x64x56x56;conv(i8:256x64x1x1)->u8:1x256x56x56"));
}

// Where weights of taps pass through the first-level cache, and planes fill three tiles of pixels.
TEST(MatrixConfig, LargeWhereWeightsPass) {
  const auto is_large = [](const char* text) { return first_grid(text) == cpu::kLargeGrid; };
  EXPECT_TRUE(is_large("bf16:1x128x28x28:nhwc;conv(bf16:128x128x3x3,pad=1x1)"));
  EXPECT_TRUE(is_large("bf16:1x128x28x28;conv(bf16:128x128x3x3,pad=1x1)"));
  EXPECT_TRUE(is_large("u8:1x192x17x17:nhwc;conv(i8:192x192x7x1,pad=3x0)->u8:1x192x17x17:nhwc"));
  EXPECT_FALSE(is_large("bf16:1x32x28x28:nhwc;conv(bf16:128x32x3x3,pad=1x1)"));
  EXPECT_FALSE(is_large("bf16:1x128x28x28:nhwc;conv(bf16:128x128x3x3,pad=1x1,stride=2x2)"));
  EXPECT_FALSE(is_large("bf16:1x1024x28x28:nhwc;conv(bf16:128x1024x1x1)"));
  EXPECT_FALSE(is_large("bf16:1x512x7x7:nhwc;conv(bf16:512x512x3x3,pad=1x1)"));
  EXPECT_FALSE(is_large("bf16:16x512x9x9:nhwc;conv(bf16:512x512x3x3,pad=1x1)"));
  EXPECT_FALSE(is_large("f16:1x128x28x28:nhwc;conv(f16:128x128x3x3,pad=1x1)"));
}

TEST(MatrixConfig, TallWhereOneTileHoldsAllOutputs) {
  const auto is_tall = [](const char* text) { return first_grid(text) == cpu::kTallGrid; };
  EXPECT_TRUE(is_tall("u8:1x64x28x28:nhwc;conv(i8:16x64x3x3,pad=1x1)->u8:1x16x28x28:nhwc"));
  EXPECT_TRUE(is_tall("bf16:1x64x28x28;conv(bf16:12x64x3x3,pad=1x1)"));
  EXPECT_FALSE(is_tall("bf16:1x64x28x28;conv(bf16:17x64x3x3,pad=1x1)"));
  EXPECT_FALSE(is_tall("bf16:1x64x28x28:nhwc;conv(bf16:16x64x1x1)"));
  EXPECT_FALSE(is_tall("bf16:1x64x28x28:nhwc;conv(bf16:32x16x3x3,pad=1x1,groups=4)"));
  EXPECT_FALSE(is_tall("f16:1x64x28x28;conv(f16:16x64x3x3,pad=1x1)"));
}

// And large output past the caches, which squares of bytes cannot.
TEST(MatrixConfig, WideBytesAreMadeOfLines) {
  const Problem problem =
      parse_problem("u8:16x64x56x56:nhwc;conv(i8:256x64x1x1)->u8:16x256x56x56:nhwc");
  const SplitChain chain = optimize(lower(problem), {});
  for (const bool wide : {false, true}) {
    const cpu::MatrixConfig config{.block = 64, .grid = wide ? cpu::kWideGrid : cpu::kSquareGrid};
    const auto functions = matrix_recipe(problem, chain, config)->emit();
    EXPECT_EQ(functions.back().name.ends_with("_streaming"), wide);
  }
}

TEST(MatrixConfig, TextReadsBack) {
  const cpu::MatrixConfig config{.block = 784, .staged = true, .by_row = true};
  const cpu::MatrixConfig wide{.block = 784, .grid = cpu::kWideGrid};
  const cpu::MatrixConfig large{.block = 784, .staged = true, .grid = cpu::kLargeGrid};
  EXPECT_EQ(cpu::parse_matrix_config(to_text(wide)), wide);
  EXPECT_EQ(cpu::parse_matrix_config(to_text(large)), large);
  EXPECT_EQ(to_text(config), "block=784,staged=1,joined=0,by_row=1,grid=2x2,by_plane=0");
  EXPECT_EQ(cpu::parse_matrix_config(to_text(config)), config);
  for (const char* text :
       {"", "block=7", "block=7,staged=1,joined=0,by_row=1",
        "block=0,staged=1,joined=0,by_row=1,grid=2x2,by_plane=0",
        "block=7,staged=2,joined=0,by_row=1,grid=2x2",
        "block=07,staged=1,joined=0,by_row=1,grid=2x2,by_plane=0",
        "block=7,staged=1,joined=0,by_row=1,grid=2x2,by_plane=0 ",
        "block=7,staged=1,joined=0,by_row=1,grid=2x3,by_plane=0",
        "block=99999999999999999999,staged=1,joined=0,by_row=1,grid=2x2,by_plane=0"})
    EXPECT_EQ(cpu::parse_matrix_config(text), std::nullopt) << text;
}

// A window of a part of one long row has no gaps, and need not look for them.
TEST(MatrixPlan, GrainsAreSmallOnlyWhereRowsHaveGaps) {
  const auto grain = [](const char* text, cpu::Product product) {
    const Problem problem = parse_problem(text);
    const SplitChain chain = optimize(lower(problem), {});
    const cpu::MatrixPlan plan = matrix_plan(cpu::direct_shape(problem, chain), chain, product,
                                             matrix_configs(problem, chain).front());
    EXPECT_TRUE(plan.overlaps) << text;
    EXPECT_EQ(plan.specs().front().has_gaps || plan.specs().back().has_gaps,
              plan.even_rows && !plan.runs_on)
        << text;
    return plan.grain;
  };
  EXPECT_EQ(grain("u8:1x64x149x149:nhwc;conv(i8:64x64x1x1)->u8:1x64x149x149:nhwc",
                  cpu::Product::unsigned_bytes),
            4);
  EXPECT_EQ(grain("bf16:1x512x7x7:nhwc;conv(bf16:512x512x1x1)", cpu::Product::bf16), 2);
  EXPECT_EQ(grain("bf16:1x64x28x28:nhwc;conv(bf16:64x64x3x3)", cpu::Product::bf16), 2);
  // Rows share a column of padding.
  EXPECT_EQ(grain("bf16:1x64x28x28:nhwc;conv(bf16:64x64x3x3,pad=1x1)", cpu::Product::bf16), 1);
  EXPECT_EQ(grain("bf16:1x64x27x27:nhwc;conv(bf16:64x64x3x3,pad=1x1)", cpu::Product::bf16), 1);
}

TEST(MatrixRefusal, SaysWhy) {
  const auto refusal = [](const char* text) {
    const Problem problem = parse_problem(text);
    return matrix_refusal(problem, optimize(lower(problem), {})).value_or("accepted");
  };
  EXPECT_NE(refusal("bf16:1x8x4x4;activation(relu)").find("no convolution"), std::string::npos);
  EXPECT_EQ(refusal("f32:1x8x4x4;conv(f32:8x8x1x1)"), "accepted");
  EXPECT_NE(refusal("bf16:1x8x4x4;conv(bf16:8x8x1x1)->f32:1x8x4x4:s256,32,8,2").find("contiguous"),
            std::string::npos);
  EXPECT_EQ(refusal("u8:1x8x4x4;conv(i8:8x8x1x1)"), "accepted");
}

// Configurations of another problem are refused, not run over memory that is not there.
TEST(MatrixRefusal, OfConfigurationsThatDoNotFit) {
  const auto recipe = [](const char* text, const char* config) {
    const Problem problem = parse_problem(text);
    return matrix_recipe(problem, optimize(lower(problem), {}),
                         cpu::parse_matrix_config(config).value());
  };
  const char* const kSpatial = "bf16:1x64x9x9:nhwc;conv(bf16:8x64x3x3)";
  EXPECT_THROW(recipe(kSpatial, "block=9,staged=0,joined=0,by_row=0,grid=2x2,by_plane=0"), Error);
  EXPECT_THROW(recipe(kSpatial, "block=9,staged=1,joined=1,by_row=0,grid=2x2,by_plane=0"), Error);
  EXPECT_THROW(recipe(kSpatial, "block=9,staged=1,joined=0,by_row=1,grid=3x2,by_plane=0"), Error);
  EXPECT_NO_THROW(recipe(kSpatial, "block=9,staged=1,joined=0,by_row=0,grid=2x2,by_plane=0"));
  EXPECT_NO_THROW(recipe(kSpatial, "block=9,staged=1,joined=0,by_row=0,grid=3x2,by_plane=0"));
}

}  // namespace
}  // namespace fuseplan::test
