// SPDX-License-Identifier: MIT
// What estimates must know, each row measured: for one, that of tensors that lie in memory other
// tiles of 1x1 convolutions are the fastest on a Zen 5 than of those that caches hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expr/passes.hpp"
#include "kernels/cpu/conv1x1/tuning.hpp"
#include "kernels/cpu/direct/tuning.hpp"
#include "kernels/cpu/matrix/recipe.hpp"
#include "kernels/cpu/strassen/tuning.hpp"
#include "kernels/cpu/winograd/recipe.hpp"

namespace fuseplan::cpu {
namespace {

Conv1x1Shape shape_of(const char* text, Isa isa) {
  const Problem problem = parse_problem(text);
  return conv1x1_shape(problem, optimize(lower(problem), {}), isa);
}

struct Choice {
  const char* text;
  Isa isa;
  bool by_channel;
  int fewest_vectors;
};
class Conv1x1Estimate : public ::testing::TestWithParam<Choice> {};
INSTANTIATE_TEST_SUITE_P(
    OnZen5, Conv1x1Estimate,
    ::testing::Values(Choice{"f32:1x256x56x56:nchw;conv(f32:64x256x1x1)", Isa::avx512, false, 2},
                      Choice{"f32:16x256x56x56:nchw;conv(f32:64x256x1x1)", Isa::avx512, true, 2},
                      Choice{"f32:1x256x56x56:nchw;conv(f32:64x256x1x1)", Isa::avx2, false, 2},
                      Choice{"f32:16x256x56x56:nchw;conv(f32:64x256x1x1)", Isa::avx2, true, 2},
                      Choice{"f32:16x96x56x56:nchw;conv(f32:24x96x1x1)", Isa::avx512, false, 2},
                      Choice{"f32:16x32x112x112:nchw;conv(f32:16x32x1x1)", Isa::avx512, false, 3}));

TEST_P(Conv1x1Estimate, PutsFirst) {
  const Choice& choice = GetParam();
  const Conv1x1Config first =
      tuning_space(shape_of(choice.text, choice.isa), core_rates("zen5", choice.isa)).front();
  EXPECT_EQ(first.by_channel, choice.by_channel) << to_text(first);
  EXPECT_GE(first.vectors, choice.fewest_vectors) << to_text(first);
}

// Limited to AVX2, a Zen 4 waits for the lines of planes that scalars lie in.
TEST(TurnedPlanes, AreForCoresThatWaitForTheirLines) {
  for (const char* text : {"f32:1x320x7x7:nchw;conv(f32:1280x320x1x1)",
                           "f32:1x2048x7x7:nchw;conv(f32:512x2048x1x1)"}) {
    const Conv1x1Shape narrow = shape_of(text, Isa::avx2), wide = shape_of(text, Isa::avx512);
    const auto first = [&](const Conv1x1Shape& shape, const char* line) {
      return tuning_space(shape, core_rates(line, shape.isa)).front();
    };
    EXPECT_TRUE(first(narrow, "zen4").by_channel && first(narrow, "zen4").staged) << text;
    EXPECT_TRUE(first(narrow, "generic").by_channel && first(narrow, "generic").staged) << text;
    EXPECT_FALSE(first(wide, "zen4").staged) << text;
  }
  const Conv1x1Shape few = shape_of("f32:1x320x7x7:nchw;conv(f32:1280x320x1x1)", Isa::avx2);
  EXPECT_FALSE(tuning_space(few, core_rates("zen5", Isa::avx2)).front().staged);
}

double gain_of(const char* text, Isa isa) {
  const Conv1x1Shape shape = shape_of(text, isa);
  const CoreRates& rates = core_rates("zen5", isa);
  return conv1x1_products(shape, rates) / strassen_products(shape, rates);
}

// Its sums of input are made of what nobody asked for in time.
TEST(StrassenEstimate, LeavesFarInputAlone) {
  EXPECT_GT(gain_of("f32:1x256x56x56:nhwc;conv(f32:128x256x1x1)", Isa::avx512), 1.02);
  EXPECT_LT(gain_of("f32:16x256x56x56:nhwc;conv(f32:128x256x1x1)", Isa::avx512), 1.0);
  EXPECT_GT(gain_of("f32:1x512x28x28:nchw;conv(f32:128x512x1x1)", Isa::avx2), 1.02);
  EXPECT_LT(gain_of("f32:16x512x28x28:nchw;conv(f32:128x512x1x1)", Isa::avx2), 1.0);
}

TEST(StrassenEstimate, StoresInShortBursts) {
  for (const char* text : {"f32:1x128x28x28:nhwc;conv(f32:512x128x1x1)",
                           "f32:16x256x14x14:nhwc;conv(f32:1024x256x1x1)"}) {
    const StrassenConfig first =
        strassen_tuning_space(shape_of(text, Isa::avx512), core_rates("zen5")).front();
    EXPECT_LE(first.rows, 9) << to_text(first) << " of " << text;
  }
}

// Planes that begin anywhere in a line are copied first where there are outputs enough to gain by
// it on Intel's cores: 256 to 1024 channels take 600 us where they lie, and 505 from panels; 384 to
// 96 77 and 83. Elsewhere that was not measured.
TEST(Conv1x1Estimate, CopiesPlanesForManyOutputs) {
  const auto first_of = [](const char* text, const char* line) {
    return tuning_space(shape_of(text, Isa::avx512), core_rates(line)).front();
  };
  const char* many = "f32:1x256x14x14:nchw;conv(f32:1024x256x1x1)";
  EXPECT_TRUE(first_of(many, "sapphire").staged);
  EXPECT_FALSE(first_of(many, "sapphire").by_channel);
  EXPECT_TRUE(first_of("f32:16x96x14x14:nchw;conv(f32:576x96x1x1)", "sapphire").staged);
  EXPECT_FALSE(first_of("f32:1x384x14x14:nchw;conv(f32:96x384x1x1)", "sapphire").staged);
  EXPECT_FALSE(first_of("f32:1x128x28x28:nchw;conv(f32:512x128x1x1)", "sapphire").staged)
      << "whole lines";
  for (const char* line : {"generic", "zen4", "zen5"}) EXPECT_FALSE(first_of(many, line).staged);
}

// Weights of 7 x 7 pixels come from behind the second level for each image: 512 to 2048 channels at
// batch 16 took 12.1 ms so, and take 10.5 by windows of four. Of 14 x 14 pixels, or beside weights
// that are few, staging costs more than it saves.
TEST(Conv1x1Estimate, ShortPlanesShareWindows) {
  const auto images_of = [](const char* text, Isa isa = Isa::avx512) {
    return tuning_space(shape_of(text, isa), core_rates("sapphire", isa)).front().images;
  };
  EXPECT_EQ(images_of("f32:16x512x7x7:nchw;conv(f32:2048x512x1x1)"), 4);
  EXPECT_EQ(images_of("f32:16x2048x7x7:nchw;conv(f32:512x2048x1x1)"), 2) << "1.6 MB of input";
  EXPECT_GE(images_of("f32:16x1024x3x3:nchw;conv(f32:1024x1024x1x1)"), 8);
  EXPECT_EQ(images_of("f32:15x512x7x7:nchw;conv(f32:2048x512x1x1)"), 5);
  EXPECT_EQ(images_of("f32:1x512x7x7:nchw;conv(f32:2048x512x1x1)"), 1);
  EXPECT_EQ(images_of("f32:16x960x7x7:nchw;conv(f32:160x960x1x1)"), 1);
  EXPECT_EQ(images_of("f32:16x256x14x14:nchw;conv(f32:1024x256x1x1)"), 1);
  EXPECT_EQ(images_of("f32:16x256x8x8:nchw;conv(f32:1024x256x1x1)"), 1) << "whole lines";
  EXPECT_EQ(images_of("f32:16x256x3x3:nchw;conv(f32:256x256x1x1)"), 1) << "few weights";
  EXPECT_EQ(images_of("f32:1024x64x2x2:nchw;conv(f32:256x64x1x1)"), 1) << "few weights";
  EXPECT_EQ(images_of("f32:16x1024x7x7:nchw;conv(f32:2048x512x1x1,groups=2)"), 1);
  EXPECT_EQ(images_of("f32:16x512x7x7:nchw;conv(f32:2048x512x1x1)", Isa::avx2), 1);
}

TEST(Conv1x1Estimate, IsNoLessThanTheProducts) {
  for (const char* text : {"f32:16x1024x1x2:nchw;conv(f32:1280x1024x1x1)",
                           "f32:4096x1024x1x3:nchw;conv(f32:2048x1024x1x1)",
                           "f32:16x512x7x7:nchw;conv(f32:2048x512x1x1)"}) {
    const Conv1x1Shape shape = shape_of(text, Isa::avx512);
    for (const char* line : {"generic", "zen4", "zen5", "sapphire"})
      EXPECT_GE(conv1x1_products(shape, core_rates(line)), shape.conv.flops() / 2 / shape.lanes())
          << line << " " << text;
  }
}

// Transformed input that Intel's second level does not keep is read from behind it for each tile of
// output channels. 256 to 256 at stride 2 took 24.4 ms so, in 81 positions of 112 tiles, directly
// 18.8; in 49 of 14 tiles, which stay, as long as directly, which the estimate does not quite see.
TEST(WinogradEstimate, KnowsWhatTransformedTilesTake) {
  const auto gain_of = [](const char* text, const char* line) {
    return winograd_speedup(parse_problem(text), Isa::avx512, core_rates(line));
  };
  const char* strided = "f32:16x256x28x28:nhwc;conv(f32:256x256x3x3,pad=1x1,stride=2x2)";
  EXPECT_LT(gain_of(strided, "sapphire"), 1.25);
  EXPECT_EQ(first_winograd_config(parse_problem(strided), Isa::avx512, core_rates("sapphire")),
            (WinogradConfig{.rows = 3, .columns = 3, .pixels = 14, .vectors = 2, .tiles = 14}));
  EXPECT_GT(gain_of(strided, "zen4"), 1.2);
  EXPECT_GT(gain_of(strided, "zen5"), 1.2);
  EXPECT_GT(gain_of("f32:16x512x7x7:nhwc;conv(f32:512x512x3x3,pad=1x1)", "sapphire"), 1.5);
}

// Weights that are asked for come from a far third level faster than others: tiles with more of
// them pay. 256 to 256 over 56 x 56 pixels take 7.3 ms in 4x4 and 9.3 in 2x4, over 14 x 14 604 and
// 640 to 740 us; 512 to 512 over 7 x 7 0.92 in 2x2, in 2x4 1.0, directly 1.12, over 14 x 14 2.33 in
// 4x4 and 2.51 in 2x4. Of more than 17 MB 9 x 3 products take 0.90 to 0.95 of what 14 x 2 do.
TEST(WinogradEstimate, KnowsWhatAskedWeightsTake) {
  const auto first_of = [](const char* text) {
    return to_text(first_winograd_config(parse_problem(text), Isa::avx512, core_rates("sapphire")));
  };
  EXPECT_EQ(first_of("f32:1x256x56x56:nhwc;conv(f32:256x256x3x3,pad=1x1)"), "4x4,14x2,tiles=14");
  EXPECT_EQ(first_of("f32:1x256x14x14:nhwc;conv(f32:256x256x3x3,pad=1x1)"), "4x4,14x2,tiles=28");
  EXPECT_EQ(first_of("f32:1x512x7x7:nhwc;conv(f32:512x512x3x3,pad=1x1)"), "2x2,14x2,tiles=112");
  EXPECT_EQ(first_of("f32:1x512x14x14:nhwc;conv(f32:512x512x3x3,pad=1x1)"), "4x4,9x3,tiles=112");
  EXPECT_EQ(first_of("f32:1x256x28x28:nhwc;conv(f32:512x256x3x3,pad=1x1)"), "4x4,9x3,tiles=112");
  // Pieces are whole runs of dilated tiles: 9 hold one of 5, or none of 10.
  EXPECT_EQ(first_of("f32:1x512x40x40:nhwc;conv(f32:512x512x3x3,pad=5x5,dilation=5x5)"),
            "4x4,14x2,tiles=112");
  EXPECT_EQ(first_of("f32:1x512x40x40:nhwc;conv(f32:512x512x3x3,pad=10x10,dilation=10x10)"),
            "4x4,14x2,tiles=112");
}

// Pixels 8 KB apart share a set of the first-level cache, so that tiles of 14 of them would read
// each other's lines anew: 2048 to 256 channels at 33 x 33 take 68.7 ms so, copied first 55.7. With
// dilation 18 every row is copied eleven times (34.7 and 37.3), and with a stride of 2 pixels of 2
// KB in vain (512 channels at 14 x 14: 1.51 and 1.65).
TEST(DirectEstimate, CopiesPixelsThatShareASet) {
  const auto first_of = [](const char* text) {
    const Problem problem = parse_problem(text);
    return tuning_space(direct_shape(problem, optimize(lower(problem), {})), Target(Isa::avx512),
                        core_rates("sapphire"))
        .front();
  };
  const DirectConfig first =
      first_of("f32:1x2048x33x33:nhwc;conv(f32:256x2048x3x3,pad=6x6,dilation=6x6)");
  EXPECT_TRUE(first.staged) << to_text(first);
  EXPECT_GE(first.block, 128) << to_text(first);
  for (const char* text : {"f32:1x2048x33x33:nhwc;conv(f32:256x2048x3x3,pad=18x18,dilation=18x18)",
                           "f32:1x512x14x14:nhwc;conv(f32:512x512x3x3,pad=1x1,stride=2x2)",
                           "f32:1x1000x33x33:nhwc;conv(f32:256x1000x3x3,pad=6x6,dilation=6x6)"})
    EXPECT_FALSE(first_of(text).staged) << text;
}

// A few tiles are cut in two where they and their sums are more than a second-level cache keeps:
// 320 channels at 20 x 20 pixels, 2.2 ms whole and 1.6 in two. 128 channels take 255 us whole and
// 268 in two; with a stride, 96 to 192 at 40 x 40 688 and 743.
TEST(WinogradEstimate, CutsFewTilesThatSpill) {
  const auto tiles_of = [](const char* text, Isa isa = Isa::avx512) {
    return first_winograd_config(parse_problem(text), isa, core_rates("sapphire", isa)).tiles;
  };
  EXPECT_EQ(tiles_of("f32:1x320x20x20:nhwc;conv(f32:320x320x3x3,pad=1x1)"), 14);
  EXPECT_EQ(tiles_of("f32:1x320x20x20:nchw;conv(f32:320x320x3x3,pad=1x1)"), 14);
  EXPECT_EQ(tiles_of("f32:1x320x20x20:nchw;conv(f32:320x320x3x3,pad=1x1)", Isa::avx2), 28);
  EXPECT_EQ(tiles_of("f32:1x128x20x20:nhwc;conv(f32:128x128x3x3,pad=1x1)"), 28);
  EXPECT_EQ(tiles_of("f32:1x96x40x40:nhwc;conv(f32:192x96x3x3,pad=1x1,stride=2x2)"), 28);
}

// A tile of channels with 9 KB of weights for each is read again for each strip, from behind the
// second-level cache: 1024 channels at 12 x 12 pixels take 24.5 ms, by Winograd's products 12.9;
// 512 take 2.8, by products that ask for their weights 1.7. At 7 x 7 a window is one strip.
TEST(MatrixEstimate, KnowsWhatTheSecondLevelKeeps) {
  const auto gain_of = [](std::int64_t channels, std::int64_t pixels) {
    const Problem problem = parse_problem(
        fmt::format("f32:1x{0}x{1}x{1}:nhwc;conv(f32:{0}x{0}x3x3,pad=1x1)", channels, pixels));
    return matrix_speedup(problem) / winograd_speedup(problem, Isa::avx512, core_rates("sapphire"));
  };
  constexpr double kPays = 1 / 1.05;
  EXPECT_LT(gain_of(1024, 12), kPays);
  EXPECT_LT(gain_of(768, 12), kPays);
  EXPECT_LT(gain_of(512, 12), kPays);
  EXPECT_GT(gain_of(512, 7), kPays);
  EXPECT_GT(gain_of(1024, 7), kPays);
  const double absurd = matrix_speedup(
      parse_problem("f32:1x512x8x8:nchw;conv(f32:512x512x3x3,pad=1073741824x1073741824,"
                    "dilation=1073741824x1073741824)"));
  EXPECT_LT(absurd, 1e-9) << "taps a gigabyte apart, and no overflow";
}

}  // namespace
}  // namespace fuseplan::cpu
