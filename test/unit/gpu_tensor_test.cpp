// SPDX-License-Identifier: MIT
// Which tiles the tensor-core convolution takes, from the problem alone.
#include <gtest/gtest.h>

#include "kernels/gpu/conv_tensor.hpp"
#include "solve/solver.hpp"

namespace fuseplan::test {
namespace {

using gpu::TensorTile;

std::string conv(const std::string& type, const std::string& input, const std::string& weights,
                 const std::string& layout = "nhwc") {
  return type + ":" + input + ":" + layout + ";conv(" + type + ":" + weights + ":" + layout +
         ",pad=1x1)";
}
TensorTile best(const std::string& text, int capability = 90) {
  return gpu::tensor_tiles(parse_problem(text), capability).front();
}

TEST(TensorTiles, LargeProblemsTakeLargeTiles) {
  const TensorTile tile = best(conv("f16", "256x256x14x14", "256x256x3x3"));
  EXPECT_EQ(tile.m * tile.n, 128 * 128) << to_text(tile);
  EXPECT_EQ(tile.warps_k, 1) << to_text(tile);
}

TEST(TensorTiles, FewChannelsTakeNarrowTiles) {
  EXPECT_EQ(best(conv("f16", "64x64x56x56", "64x64x3x3")).n, 64);
  EXPECT_EQ(best(conv("bf16", "64x64x56x56", "24x64x3x3")).n, 32);
}

// One image of 7 x 7 is a few blocks, whatever the tile: their warps share the long depth, and
// clusters where the device has them.
TEST(TensorTiles, FewPixelsShareTheDepth) {
  const std::string text = conv("f16", "1x512x7x7", "512x512x3x3");
  EXPECT_GT(best(text, 80).warps_k, 1) << to_text(best(text, 80));
  EXPECT_EQ(best(text, 90).split, 8) << to_text(best(text, 90));
  EXPECT_EQ(best(text, 100).split, 8) << to_text(best(text, 100));
}

TEST(TensorTiles, OnlyIdleDevicesSplit) {
  const auto splits = [](const std::string& text, int capability) {
    int most = 1;
    for (const TensorTile& tile : gpu::tensor_tiles(parse_problem(text), capability))
      most = std::max(most, tile.split);
    return most;
  };
  const std::string few = conv("f16", "1x512x7x7", "512x512x3x3");
  EXPECT_EQ(splits(few, 90), 8);
  EXPECT_EQ(splits(few, 89), 1);
  EXPECT_EQ(splits(conv("f16", "256x256x14x14", "256x256x3x3"), 90), 1);
  // A depth of 72: three steps or two.
  EXPECT_EQ(splits(conv("f16", "1x8x7x7", "64x8x3x3"), 90), 2);
}

// 196 pixels of 256 channels: two blocks for a tile are enough, and eight would share too little.
TEST(TensorTiles, AFewBlocksWhereAFewAreMissing) {
  const TensorTile tile = best(conv("f16", "16x256x14x14", "256x256x3x3"));
  EXPECT_GT(tile.split, 1) << to_text(tile);
  EXPECT_LT(tile.split, 8) << to_text(tile);
}

TEST(TensorTiles, EveryDeviceHasSomeForEveryProblem) {
  for (const char* layout : {"nchw", "nhwc"})
    for (const char* weights : {"64x3x7x7", "64x24x1x1"})
      for (int capability : {75, 80, 86, 89, 90, 100, 120}) {
        const std::string input = weights[3] == '3' ? "2x3x30x30" : "2x24x30x30";
        const auto tiles =
            gpu::tensor_tiles(parse_problem(conv("f16", input, weights, layout)), capability);
        EXPECT_GE(tiles.size(), 3u) << layout << " " << weights << " " << capability;
        for (const TensorTile& tile : tiles)
          EXPECT_EQ(to_text(gpu::parse_tensor_tile(to_text(tile)).value()), to_text(tile));
      }
  EXPECT_FALSE(gpu::parse_tensor_tile("128x128"));
}

bool accepted(const std::string& text, const std::string& arch, bool tf32 = false) {
  const Problem problem = parse_problem(text);
  const SplitChain chain;
  Traits traits;
  traits.backend = "cuda";
  traits.arch = arch;
  traits.tf32 = tf32;
  const Solver* solver = find_solver("gpu_tensor");
  Verdict verdict(solver->id());
  solver->accepts({problem, chain, traits}, verdict);
  return verdict.accepted();
}

TEST(TensorConditions, ArchitectureTypeAndSize) {
  const auto text = [](const std::string& type) { return conv(type, "1x16x8x8", "16x16x3x3"); };
  EXPECT_TRUE(accepted(text("f16"), "sm_75"));
  EXPECT_FALSE(accepted(text("bf16"), "sm_75"));
  EXPECT_TRUE(accepted(text("bf16"), "sm_80"));
  EXPECT_FALSE(accepted(text("f32"), "sm_90"));
  EXPECT_TRUE(accepted(text("f32"), "sm_90", true));
  EXPECT_FALSE(accepted("f32:1x16x8x8:nhwc;conv(f32:16x16x3x3:nhwc,strict)", "sm_90", true));
  EXPECT_FALSE(accepted("f16:1x16x8x8:nhwc;conv(f16:16x1x3x3:nhwc,groups=16)", "sm_90"));
  EXPECT_FALSE(accepted("f16:1x2x8x8:nhwc;conv(f16:16x2x1x1:nhwc)", "sm_90"));
  EXPECT_FALSE(accepted(text("f16"), "gfx90a"));
}

}  // namespace
}  // namespace fuseplan::test
