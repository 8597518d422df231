// SPDX-License-Identifier: MIT
// What the solver takes and refuses, with the reason it gives.
#include <gtest/gtest.h>

#include "conditions.hpp"

namespace fuseplan::test {
namespace {

constexpr cpu::Extensions kTiles{.bf16 = true, .tiles_bf16 = true, .tiles_int8 = true};

Verdict ask(const std::string& text, const cpu::Extensions& extensions = kTiles) {
  return ask_solver("cpu_matrix", text,
                    {.backend = "cpu",
                     .isa = cpu::Isa::avx512,
                     .extensions = extensions,
                     .family = "sapphire_amx"});
}

TEST(MatrixConditions, TakesWhatItIsFasterFor) {
  for (const char* text : {"f32:1x256x14x14:nhwc;conv(f32:1024x256x1x1)",
                           "f32:1x256x14x14;conv(f32:1024x256x1x1);activation(gelu_erf)",
                           "f32:16x512x14x14;conv(f32:512x512x3x3,pad=1x1,stride=2x2)",
                           "f32:1x3x224x224:nhwc;conv(f32:64x3x7x7,pad=3x3,stride=2x2)",
                           "f32:1x240x28x28;conv(f32:240x80x1x1,groups=3)",
                           "f32:1x512x7x7:nhwc;conv(f32:512x512x3x3,pad=1x1,deterministic)",
                           "f16:1x64x56x56:nhwc;conv(f16:64x64x3x3,pad=1x1)",
                           "f16:1x64x56x56;conv(f16:64x64x1x1)->f32:1x64x56x56",
                           "bf16:1x16x1x1;conv(bf16:16x16x1x1,strict)",
                           "u8:1x16x1x1;conv(i8:16x16x1x1,strict)->u8:1x16x1x1",
                           "bf16:1x64x56x56;conv(bf16:64x16x3x3,pad=1x1,groups=4)",
                           "u8:1x256x28x28:nhwc;conv(i8:256x8x3x3,pad=1x1,groups=32)"})
    EXPECT_TRUE(ask(text).accepted()) << text;
}

TEST(MatrixConditions, RefusesTheRestAndSaysWhy) {
  const struct {
    const char* text;
    RejectCode code;
  } cases[] = {
      {"f32:1x64x56x56;activation(relu)", RejectCode::Sequence},
      {"f32:1x256x14x14;conv(f32:1024x256x1x1,strict)", RejectCode::Attribute},
      {"f16:1x256x14x14;conv(f16:1024x256x1x1,strict)", RejectCode::Attribute},
      {"f32:1x64x56x56;conv(f32:64x16x3x3,pad=1x1,groups=4)", RejectCode::Convolution},
      {"bf16:1x64x56x56;conv(bf16:64x4x3x3,pad=1x1,groups=16)", RejectCode::Convolution},
      {"u8:1x70x28x28:nhwc;conv(i8:70x10x3x3,pad=1x1,groups=7)", RejectCode::Convolution},
      // One pixel, few channels, and what Winograd does faster.
      {"f32:1x512x1x1;conv(f32:512x512x1x1)", RejectCode::Size},
      {"f32:1x4x56x56;conv(f32:4x4x1x1)", RejectCode::Size},
      {"f32:1x64x300x300;conv(f32:64x64x200x200)", RejectCode::Size},
      {"bf16:1x64x300x300;conv(bf16:64x64x200x200)", RejectCode::Size},
      {"f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x1)", RejectCode::Size},
      // Weights of 14 MB for each of four windows, or for every three images.
      {"f32:1x512x28x28:nhwc;conv(f32:512x512x3x3,pad=1x1)", RejectCode::Size},
      {"f32:16x512x7x7:nhwc;conv(f32:512x512x3x3,pad=1x1)", RejectCode::Size},
      {"f32:1x256x14x14;conv(f32:64x256x1x1)->f32:1x64x14x14:s25088,392,28,2", RejectCode::Layout},
  };
  for (const auto& [text, code] : cases) expect_refused(ask(text), code, text);
}

// It gives way to Winograd's products where those may run.
TEST(MatrixConditions, GivesWayToNothingThatIsSwitchedOff) {
  const Problem problem = parse_problem("f32:1x64x56x56;conv(f32:64x64x3x3,pad=1x1)");
  const SplitChain chain = optimize(lower(problem), {});
  const Traits traits{
      .backend = "cpu", .isa = cpu::Isa::avx512, .extensions = kTiles, .family = "sapphire_amx"};
  const auto takes = [&](const SolverFilter& filter) {
    Verdict verdict("cpu_matrix");
    find_solver("cpu_matrix")->accepts({problem, chain, traits, &filter}, verdict);
    return verdict.accepted();
  };
  EXPECT_FALSE(takes({}));
  EXPECT_TRUE(takes({.pinned = {}, .disabled = {"cpu_winograd"}}));
  EXPECT_TRUE(takes({.pinned = "cpu_matrix", .disabled = {}}));
  EXPECT_TRUE(takes({.pinned = {}, .disabled = {}, .algorithm = Algorithm::direct}));
}

TEST(MatrixConditions, NeedsTheTilesOfTheType) {
  constexpr cpu::Extensions kReal{.bf16 = true, .tiles_bf16 = true}, kBytes{.tiles_int8 = true};
  for (const char* text :
       {"f32:1x256x14x14;conv(f32:256x256x1x1)", "f16:1x256x14x14;conv(f16:256x256x1x1)",
        "bf16:1x256x14x14;conv(bf16:256x256x1x1)"}) {
    EXPECT_TRUE(ask(text, kReal).accepted()) << text;
    expect_refused(ask(text, kBytes), RejectCode::Device, text);
  }
}

}  // namespace
}  // namespace fuseplan::test
