// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/emit/sum_turns.hpp"

namespace fuseplan::cpu {
namespace {

constexpr int kLanes = 16;

/// Vectors of channels by pixels, the pixels of a vector next to one another.
std::vector<TileSum> tile(int vectors, int pixels) {
  std::vector<TileSum> sums;
  for (int v = 0; v < vectors; ++v)
    for (int p = 0; p < pixels; ++p)
      sums.push_back({.reg = static_cast<int>(sums.size()), .place = {v * kLanes, 0, p}});
  return sums;
}

TEST(SumTurns, ArePixelsWhereLanesAreChannels) {
  const std::vector<TileSum> sums = tile(3, 5);
  const auto turns = turns_of(sums, true);
  ASSERT_TRUE(turns);
  EXPECT_EQ(turns->turns(), 5u);
  EXPECT_EQ(turns->step, (TilePlace{0, 0, 1}));
  EXPECT_EQ(turns->regs, (std::vector<int>{0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14}));
  ASSERT_EQ(turns->first.size(), 3u);
  for (int v = 0; v < 3; ++v)
    EXPECT_EQ(turns->first[static_cast<std::size_t>(v)].place, (TilePlace{v * kLanes, 0, 0}));
}

TEST(SumTurns, AreChannelsWhereLanesArePixels) {
  std::vector<TileSum> sums;
  for (int c = 0; c < 4; ++c)
    for (int v = 0; v < 2; ++v)
      sums.push_back({.reg = 2 * c + v, .place = {8 + 2 * c, 0, v * kLanes}});
  const auto turns = turns_of(sums, false);
  ASSERT_TRUE(turns);
  EXPECT_EQ(turns->turns(), 4u);
  EXPECT_EQ(turns->step, (TilePlace{2, 0, 0}));
  EXPECT_EQ(turns->regs, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// A tile's sums know one another by where they stand in it; a turn's have to within the turn.
TEST(SumTurns, KeepSumsThatAreStoredTogether) {
  std::vector<TileSum> sums = tile(2, 4);
  for (int p = 0; p < 4; ++p) sums[static_cast<std::size_t>(4 + p)].before = p;
  const auto turns = turns_of(sums, true);
  ASSERT_TRUE(turns);
  EXPECT_EQ(turns->first[0].before, -1);
  EXPECT_EQ(turns->first[1].before, 0);
}

TEST(SumTurns, MayEndWithPartOfAVector) {
  std::vector<TileSum> sums = tile(2, 3);
  for (std::size_t i = 3; i < 6; ++i) sums[i].partial = true;
  const auto turns = turns_of(sums, true);
  ASSERT_TRUE(turns);
  EXPECT_FALSE(turns->first[0].partial);
  EXPECT_TRUE(turns->first[1].partial);
}

TEST(SumTurns, AreNoneUnlessAllAreAlike) {
  EXPECT_FALSE(turns_of(tile(3, 1), true)) << "one turn";
  std::vector<TileSum> sums = tile(2, 3);
  sums[4].partial = true;
  EXPECT_FALSE(turns_of(sums, true)) << "part of a vector in one of them";
  sums = tile(2, 3);
  sums[2].place.column = sums[5].place.column = 3;
  EXPECT_FALSE(turns_of(sums, true)) << "farther from the second to the third";
  sums = tile(2, 3);
  sums.pop_back();
  EXPECT_FALSE(turns_of(sums, true)) << "one sum fewer";
  sums = tile(2, 4);
  for (const std::size_t i : {2u, 3u, 6u, 7u})
    sums[i].place = {sums[i].place.channel, 1, sums[i].place.column - 2};
  EXPECT_FALSE(turns_of(sums, true)) << "two rows of two pixels";
}

}  // namespace
}  // namespace fuseplan::cpu
