// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "chain_values.hpp"
#include "expr/passes.hpp"

namespace fuseplan {
namespace {

// "0 bias, 2 bnScale": the operands of a list, by op and role.
std::string text_of(const std::vector<Operand>& operands) {
  std::string text;
  for (const Operand& operand : operands)
    text += (text.empty() ? "" : ", ") + std::to_string(operand.op) + " " + name_of(operand.role);
  return text;
}

TEST(Lower, OpsBecomeOneExpression) {
  const Chain chain = lower(parse_problem(
      "f32:1x4x8x8;conv(f32:8x4x3x3,alpha);bias(f32:8);activation(clippedrelu);add(f32:1x8x6x6);"
      "scale_shift(f32:8,beta)"));
  EXPECT_EQ(to_text(chain.expr),
            "add(add(mul(add(min(s1,max(0,add(mul(x,s0),c0))),mul(s2,e0)),c1),c2),mul(y,s3))");
  EXPECT_EQ(text_of(chain.scalars), "0 alpha, 2 activAlpha, 3 scale, 4 beta");
  EXPECT_EQ(text_of(chain.channels), "1 bias, 4 scale, 4 shift");
  EXPECT_EQ(text_of(chain.elements), "3 other");
  EXPECT_EQ(to_text(chain.elements.front().tensor), "f32:1x8x6x6:nchw");
}

TEST(Lower, NormalisationByModeAndShape) {
  const Chain spatial = lower(parse_problem("f32:2x4x8x8;norm(spatial,f16:4)"));
  EXPECT_EQ(text_of(spatial.channels), "0 bnScale, 0 bnBias, 0 estimatedMean, 0 estimatedVariance");
  EXPECT_EQ(text_of(spatial.scalars), "0 epsilon");
  EXPECT_EQ(to_text(spatial.channels.front().tensor), "f16:4:nchw");
  const test::RandomLeaves leaves{3, 0, {0.5}, {2, 10, 1, 3.5}, {}};
  EXPECT_DOUBLE_EQ(evaluate(spatial.expr, test::leaf_values(leaves)).front(), 2 * 2 / 2.0 + 10);

  const Chain each = lower(parse_problem("f32:2x4x8x8;norm(per_activation,f32:1x4x8x8)"));
  EXPECT_EQ(text_of(each.channels), "");
  EXPECT_EQ(text_of(each.elements), "0 bnScale, 0 bnBias, 0 estimatedMean, 0 estimatedVariance");
  // Without pixels, a value per activation is a value per channel.
  EXPECT_EQ(lower(parse_problem("f32:2x4;norm(per_activation,f32:1x4)")).channels.size(), 4u);
}

TEST(Lower, AddedTensorIsAChannelOperandWhereItCanBe) {
  EXPECT_EQ(text_of(lower(parse_problem("f32:2x4x8x8;add(f32:1x4x1x1)")).channels), "0 other");
  for (const char* lens : {"1x1x1x1", "2x4x1x1", "1x4x8x1", "2x4x8x8"}) {
    const Chain chain = lower(parse_problem(std::string("f32:2x4x8x8;add(f32:") + lens + ")"));
    EXPECT_EQ(text_of(chain.elements), "0 other") << lens;
  }
}

TEST(Lower, LongChainsNeedNoStack) {
  std::string text = "f32:1x4x8x8;conv(f32:4x4x1x1)";
  for (int i = 0; i < 250; ++i) text += ";activation(mish);scale_shift(f32:4)";
  const Problem problem = parse_problem(text);
  const Chain chain = lower(problem);
  EXPECT_EQ(chain.channels.size(), 500u);
  std::vector<PassReport> report;
  const SplitChain parts = optimize(chain, {}, &report, true);
  EXPECT_EQ(parts.channels.roots.size(), 500u);
  test::Random random(4);
  const test::RandomLeaves leaves = test::random_leaves(random, chain);
  const double expected = evaluate(chain.expr, test::leaf_values(leaves)).front();
  EXPECT_NEAR(test::evaluate_parts(parts, leaves), expected, 1e-9 * std::fabs(expected));
  EXPECT_LT(to_text(parts.body).size(), 50000u);
  EXPECT_FALSE(gpu_source(
                   parts.body, [](const Node&) { return "v"; },
                   [](std::size_t, const std::string& name) { return name; })
                   .empty());
  EXPECT_GT(differentiate(parts.body, Leaf::input).graph.size(), 1000);
}

}  // namespace
}  // namespace fuseplan
