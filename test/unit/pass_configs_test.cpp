// SPDX-License-Identifier: MIT
// The tuning spaces of passes over memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "expr/passes.hpp"
#include "kernels/cpu/norm/recipe.hpp"
#include "kernels/cpu/pointwise/recipe.hpp"

namespace fuseplan::cpu {
namespace {

template <typename Config>
std::vector<std::string> texts_of(const std::vector<Config>& configs) {
  std::vector<std::string> texts;
  for (const Config& config : configs) texts.push_back(to_text(config));
  return texts;
}
using Texts = std::vector<std::string>;

Texts pointwise(const std::string& text, const CoreRates& rates = core_rates("generic")) {
  const Problem problem = parse_problem(text);
  const auto configs = pointwise_configs(problem, optimize(lower(problem), {}), rates);
  for (const PointwiseConfig& config : configs)
    EXPECT_EQ(parse_pointwise_config(to_text(config)), config) << to_text(config);
  return texts_of(configs);
}

Texts norm(const std::string& text) {
  const Problem problem = parse_problem(text);
  const auto configs = norm_configs(problem, optimize(lower(problem), {}));
  for (const NormConfig& config : configs)
    EXPECT_EQ(parse_norm_config(to_text(config)), config) << to_text(config);
  return texts_of(configs);
}

TEST(PassConfigs, SmallPassesHaveNothingToChoose) {
  EXPECT_EQ(pointwise("f32:1x16x4x4:nchw;activation(relu)"), Texts{"cached"});
  EXPECT_EQ(norm("f32:2x8x5x5:nchw;norm_training(spatial,f32:1x8x1x1)"), Texts{"384,cached"});
}

TEST(PassConfigs, LargeOnesStoreEitherWay) {
  const Texts planes = pointwise("f32:8x64x80x80:nchw;bias(f32:1x64x1x1);activation(relu)");
  EXPECT_EQ(std::set<std::string>(planes.begin(), planes.end()),
            (std::set<std::string>{"cached", "past"}));
  const Texts whole = norm("f32:20x64x40x40:nchw;norm_training(spatial,f32:1x64x1x1)");
  EXPECT_EQ(whole.front(), "384,past");
  EXPECT_NE(std::ranges::find(whole, "768,cached"), whole.end());
}

// Past a third level that is hardly nearer than memory from the first size on, past a near one when
// there is much to keep.
TEST(PassConfigs, DefaultFollowsTheThirdLevel) {
  CoreRates near = core_rates("generic"), far = near;
  far.third_level = far.behind;
  const std::string small = "f32:1x64x80x80:nchw;activation(relu)";  // 3.3 MB of traffic
  const std::string large = "f32:8x64x80x80:nchw;activation(relu)";
  EXPECT_EQ(pointwise(small, near), (Texts{"cached", "past"}));
  EXPECT_EQ(pointwise(small, far), (Texts{"past", "cached"}));
  EXPECT_EQ(pointwise(large, near), (Texts{"past", "cached"}));
  EXPECT_EQ(pointwise(large, far), (Texts{"past", "cached"}));
}

TEST(PassConfigs, WhatIsReadAgainStaysInTheCaches) {
  const Problem problem = parse_problem("f32:8x64x80x80:nchw;activation(relu)");
  SplitChain chain = optimize(lower(problem), {});
  chain.output_is_reread = true;
  EXPECT_EQ(texts_of(pointwise_configs(problem, chain)), Texts{"cached"});
}

TEST(PassConfigs, ShortRowsAreJoinedToMoreOrFewerLanes) {
  EXPECT_EQ(pointwise("f32:1x64x40x40:nhwc;bias(f32:1x64x1x1);activation(relu)"),
            (Texts{"cached,lanes=512", "cached,lanes=256", "cached,lanes=1024"}));
  // Rows as long as that stay alone.
  EXPECT_EQ(pointwise("f32:1x1024x10x10:nhwc;bias(f32:1x1024x1x1);activation(relu)"),
            Texts{"cached,lanes=512"});
}

TEST(PassConfigs, OtherLayoutsAreReadInPieces) {
  const Texts configs = pointwise("f32:1x256x28x28:nhwc;bias(f32:1x256x1x1)->f32:1x256x28x28:nchw");
  EXPECT_GE(configs.size(), 2u);
  for (const std::string& text : configs) EXPECT_TRUE(text.starts_with("cached,lanes=")) << text;
}

TEST(PassConfigs, OtherTextsAreRefused) {
  for (const char* text : {"", "default", "cached,", "cached,lanes=", "cached,lanes=0", "past,512",
                           "cached,lanes=-16", "cached,lanes=16x", "Cached"})
    EXPECT_FALSE(parse_pointwise_config(text)) << text;
  for (const char* text :
       {"", "default", "384", "384,", "384,other", "0,cached", "-1,past", "past", "384,cached,"})
    EXPECT_FALSE(parse_norm_config(text)) << text;
}

}  // namespace
}  // namespace fuseplan::cpu
