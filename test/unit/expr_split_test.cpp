// SPDX-License-Identifier: MIT
#include "expr/split.hpp"

#include <gtest/gtest.h>

#include "chain_values.hpp"
#include "expr/passes.hpp"
#include "expr/term.hpp"

namespace fuseplan {
namespace {

struct Parts {
  std::string uniforms, channels, body;
};

Parts split_of(Term (*build)(Term x, Term s, Term c, Term e)) {
  Chain chain;
  chain.scalars.resize(1);
  chain.channels.resize(1);
  chain.elements.resize(1);
  Graph& graph = chain.expr.graph;
  const auto leaf = [&](Leaf kind) { return Term{&graph, graph.leaf(kind)}; };
  const Term x = leaf(Leaf::input), s = leaf(Leaf::scalar), c = leaf(Leaf::channel),
             e = leaf(Leaf::element);
  chain.expr.roots = {build(x, s, c, e).ref};
  chain.expr = compact(chain.expr);
  const SplitChain parts = split(chain);
  return {to_text(parts.uniforms), to_text(parts.channels), to_text(parts.body)};
}

TEST(Split, CutsWhereTheRateChanges) {
  const auto [uniforms, channels, body] =
      split_of([](Term x, Term s, Term c, Term e) { return x * (c + exp(s)) + e * abs(s); });
  EXPECT_EQ(uniforms, "exp(s0); abs(s0)");
  EXPECT_EQ(channels, "add(c0,s0)");
  EXPECT_EQ(body, "add(mul(x,c0),mul(e0,s1))");
}

TEST(Split, BareParametersAreRootsAndConstantsStay) {
  const auto [uniforms, channels, body] =
      split_of([](Term x, Term s, Term c, Term) { return max(0, x * c + s) * 2; });
  EXPECT_EQ(uniforms, "s0");
  EXPECT_EQ(channels, "c0");
  EXPECT_EQ(body, "mul(max(0,add(mul(x,c0),s0)),2)");
}

TEST(Split, EqualResultsAreOneRoot) {
  const auto [uniforms, channels, body] =
      split_of([](Term x, Term s, Term c, Term e) { return x * exp(c) + e * exp(c) + s - s; });
  EXPECT_EQ(uniforms, "s0");
  EXPECT_EQ(channels, "exp(c0)");
  EXPECT_EQ(body, "sub(add(add(mul(x,c0),mul(e0,c0)),s0),s0)");
}

TEST(Split, ResultsThatNoElementChanges) {
  EXPECT_EQ(split_of([](Term, Term s, Term c, Term) { return c * s; }).body, "c0");
  EXPECT_EQ(split_of([](Term, Term s, Term, Term) { return exp(s); }).body, "s0");
  EXPECT_EQ(split_of([](Term x, Term, Term, Term) { return x.constant(3); }).body, "3");
  EXPECT_EQ(split_of([](Term x, Term, Term, Term) { return x; }).body, "x");
}

// What the kernels rely on: each part holds only the leaves that chain.hpp allows it, all numbers
// are in range, and the body computes nothing that changes less often than the element.
void expect_leaves(const Expr& part, std::initializer_list<std::pair<Leaf, std::size_t>> allowed) {
  for (Ref ref = 0; ref < part.graph.size(); ++ref) {
    const Node& node = part.graph[ref];
    if (node.leaf == Leaf::none || node.leaf == Leaf::constant) continue;
    bool found = false;
    for (const auto& [leaf, count] : allowed)
      found |= node.leaf == leaf && static_cast<std::size_t>(node.index) < count;
    EXPECT_TRUE(found) << to_text(part) << " node " << ref;
  }
}

TEST(Split, PartsHoldOnlyTheirOwnLeaves) {
  test::Random random(6);
  for (int i = 0; i < 800 && !::testing::Test::HasFailure(); ++i) {
    PassOptions options;
    options.disabled = static_cast<std::uint32_t>(random.between(0, 255));
    const Chain chain = lower(test::random_problem(random, 8));
    const SplitChain parts = optimize(chain, options);
    SCOPED_TRACE(to_text(chain.expr));
    EXPECT_EQ(parts.scalars, chain.scalars);
    EXPECT_EQ(parts.channels_in, chain.channels);
    EXPECT_EQ(parts.elements, chain.elements);
    expect_leaves(parts.uniforms, {{Leaf::scalar, parts.scalars.size()}});
    expect_leaves(parts.channels, {{Leaf::scalar, parts.uniforms.roots.size()},
                                   {Leaf::channel, parts.channels_in.size()}});
    expect_leaves(parts.body, {{Leaf::input, 1},
                               {Leaf::previous, 1},
                               {Leaf::scalar, parts.uniforms.roots.size()},
                               {Leaf::channel, parts.channels.roots.size()},
                               {Leaf::element, parts.elements.size()}});
    EXPECT_EQ(parts.body.roots.size(), 1u);
    const std::vector<Rate> rates = rates_of(parts.body.graph);
    for (Ref ref = 0; ref < parts.body.graph.size(); ++ref) {
      if (parts.body.graph[ref].leaf != Leaf::none) continue;
      EXPECT_EQ(rates[static_cast<std::size_t>(ref)], Rate::element) << to_text(parts.body);
    }
  }
}

}  // namespace
}  // namespace fuseplan
