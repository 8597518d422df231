// SPDX-License-Identifier: MIT
#include "expr/passes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "chain_values.hpp"
#include "expr/functions.hpp"
#include "expr/term.hpp"

namespace fuseplan {
namespace {

// Leaves to build small expressions from.
struct Sandbox {
  Expr expr;
  Term term(Ref ref) { return {&expr.graph, ref}; }
  Term x = term(expr.graph.leaf(Leaf::input)), y = term(expr.graph.leaf(Leaf::previous)),
       c0 = term(expr.graph.leaf(Leaf::channel, 0)), c1 = term(expr.graph.leaf(Leaf::channel, 1)),
       s0 = term(expr.graph.leaf(Leaf::scalar, 0)), e0 = term(expr.graph.leaf(Leaf::element, 0));
  Term x_plus_y = x + y;
  Term number(double value) { return term(expr.graph.constant(value)); }
};

struct PassCase {
  const char* pass;
  Term (*build)(Sandbox&);
  int applied;
  const char* result;
};

#define FUSEPLAN_BUILD(value)                                            \
  [](Sandbox& box) {                                                     \
    [[maybe_unused]] auto& [expr, x, y, c0, c1, s0, e0, x_plus_y] = box; \
    return Term(value);                                                  \
  }

const PassCase kPassCases[] = {
    {"canonicalize", FUSEPLAN_BUILD(c0 + x), 1, "add(x,c0)"},
    {"canonicalize", FUSEPLAN_BUILD(2 * s0), 1, "mul(s0,2)"},
    {"canonicalize", FUSEPLAN_BUILD(x - c0), 1, "add(x,neg(c0))"},
    {"canonicalize", FUSEPLAN_BUILD(c0 - x), 0, "sub(c0,x)"},
    {"canonicalize", FUSEPLAN_BUILD(max(0, x)), 0, "max(0,x)"},
    {"canonicalize", FUSEPLAN_BUILD(x + e0), 0, "add(x,e0)"},
    {"constant_fold", FUSEPLAN_BUILD(x*(box.number(2) * 3 + 1)), 2, "mul(x,7)"},
    {"constant_fold", FUSEPLAN_BUILD(x*(s0 * 3)), 0, "mul(x,mul(s0,3))"},
    {"simplify", FUSEPLAN_BUILD((x + 0) * 1), 2, "x"},
    {"simplify", FUSEPLAN_BUILD(-(-(x / 1))), 2, "x"},
    {"simplify", FUSEPLAN_BUILD(abs(-(abs(x)))), 1, "abs(x)"},
    {"simplify", FUSEPLAN_BUILD(x * -1), 1, "neg(x)"},
    {"simplify", FUSEPLAN_BUILD(x * 0), 0, "mul(x,0)"},
    {"simplify", FUSEPLAN_BUILD(select(box.number(1), x, y)), 1, "x"},
    {"simplify", FUSEPLAN_BUILD(select(box.number(0), x, y)), 1, "y"},
    {"simplify", FUSEPLAN_BUILD(select(y, x, x)), 1, "x"},
    {"strength_reduction", FUSEPLAN_BUILD(x / 4), 1, "mul(x,0.25)"},
    {"strength_reduction", FUSEPLAN_BUILD(x / c0), 1, "mul(x,div(1,c0))"},
    {"strength_reduction", FUSEPLAN_BUILD(c0 / x), 0, "div(c0,x)"},
    {"strength_reduction", FUSEPLAN_BUILD(x / e0), 0, "div(x,e0)"},
    {"strength_reduction", FUSEPLAN_BUILD(pow(x, 2)), 1, "mul(x,x)"},
    {"strength_reduction", FUSEPLAN_BUILD(pow(x, 3)), 1, "mul(mul(x,x),x)"},
    {"strength_reduction", FUSEPLAN_BUILD(pow(x, 4)), 1, "t0=mul(x,x); mul(t0,t0)"},
    {"strength_reduction", FUSEPLAN_BUILD(pow(x, -1)), 1, "div(1,x)"},
    {"strength_reduction", FUSEPLAN_BUILD(pow(x, 0.5)), 0, "pow(x,0.5)"},
    {"fold_batchnorm", FUSEPLAN_BUILD((x + c0) * c1), 1, "fma(x,c1,mul(c0,c1))"},
    {"fold_batchnorm", FUSEPLAN_BUILD(x + c0 + s0), 1, "add(x,add(c0,s0))"},
    {"fold_batchnorm", FUSEPLAN_BUILD(x* c0 / s0), 1, "mul(x,mul(c0,div(1,s0)))"},
    {"fold_batchnorm", FUSEPLAN_BUILD(c1 - x * c0), 1, "fma(x,mul(c0,-1),c1)"},
    {"fold_batchnorm", FUSEPLAN_BUILD(-(-x)), 1, "mul(x,mul(-1,-1))"},
    {"fold_batchnorm", FUSEPLAN_BUILD(c1 - x), 0, "sub(c1,x)"},
    {"fold_batchnorm", FUSEPLAN_BUILD((x + e0) * c0), 0, "mul(add(x,e0),c0)"},
    {"cse", FUSEPLAN_BUILD(exp(x) + exp(x)), 1, "t0=exp(x); add(t0,t0)"},
    {"cse", FUSEPLAN_BUILD(x_plus_y*(y + x)), 1, "t0=add(x,y); mul(t0,t0)"},
    {"cse", FUSEPLAN_BUILD((x - y) * (y - x)), 0, "mul(sub(x,y),sub(y,x))"},
    {"cse", FUSEPLAN_BUILD(max(0, x) + max(-0.0, x)), 0, "add(max(0,x),max(-0,x))"},
    {"contract_fma", FUSEPLAN_BUILD(x* y + e0), 1, "fma(x,y,e0)"},
    {"contract_fma", FUSEPLAN_BUILD(e0 + x * y), 1, "fma(x,y,e0)"},
    {"contract_fma", FUSEPLAN_BUILD(y - x * c0), 1, "fma(x,neg(c0),y)"},
    {"contract_fma", FUSEPLAN_BUILD(y - x * e0), 0, "sub(y,mul(x,e0))"},
};

TEST(Passes, EachDoesWhatItSays) {
  for (const PassCase& row : kPassCases) {
    Sandbox box;
    box.expr.roots = {row.build(box).ref};
    Expr expr = compact(box.expr);
    SCOPED_TRACE(std::string(row.pass) + " of " + to_text(expr));
    const PassInfo* pass = find_pass(row.pass);
    ASSERT_NE(pass, nullptr);
    EXPECT_EQ(pass->run(expr), row.applied);
    EXPECT_EQ(to_text(expr), row.result);
  }
}

TEST(Passes, AProductOrSumThatOthersReadIsKept) {
  Sandbox box;
  const Term shared = box.x * box.c0;
  box.expr.roots = {(exp(shared) + (shared + box.c1)).ref};
  for (const char* name : {"fold_batchnorm", "contract_fma"}) {
    Expr expr = compact(box.expr);
    EXPECT_EQ(find_pass(name)->run(expr), 0) << name;
  }
}

TEST(Passes, ConvolutionBiasNormReluIsOneMultiplyAdd) {
  for (const char* alpha : {"", ",alpha"}) {
    const Chain chain = lower(parse_problem(std::string("f32:1x4x8x8;conv(f32:8x4x3x3") + alpha +
                                            ");bias(f32:8);norm(spatial,f32:8);activation(relu)"));
    const SplitChain parts = optimize(chain, {});
    EXPECT_EQ(to_text(parts.body), "max(0,fma(x,c0,c1))");
    EXPECT_EQ(parts.channels.roots.size(), 2u);
    EXPECT_FALSE(parts.reads_previous());
  }
}

TEST(Passes, NormAfterResidualAddKeepsBoth) {
  const Chain chain = lower(parse_problem(
      "f32:1x4x8x8;conv(f32:4x4x1x1);norm(spatial,f32:4);add(f32:1x4x8x8);activation(relu,beta)"));
  const SplitChain parts = optimize(chain, {});
  EXPECT_EQ(to_text(parts.body), "fma(y,s2,max(0,fma(e0,s1,fma(x,c0,c1))))");
  EXPECT_EQ(to_text(parts.uniforms), "s0; s1; s2");  // epsilon, the residual's scale, beta
  EXPECT_TRUE(parts.reads_previous());
}

TEST(Passes, ReportSaysWhatEachDid) {
  const Chain chain = lower(parse_problem(
      "f32:1x4x8x8;conv(f32:8x4x3x3);bias(f32:8);norm(spatial,f32:8);activation(gelu_tanh)"));
  PassOptions options;
  options.disabled = 1u << (find_pass("cse") - all_passes().data());
  std::vector<PassReport> report;
  optimize(chain, options, &report, true);
  ASSERT_EQ(report.size(), all_passes().size());
  for (std::size_t i = 0; i < report.size(); ++i) {
    const PassReport& entry = report[i];
    SCOPED_TRACE(entry.name);
    EXPECT_STREQ(entry.name, all_passes()[i].name);
    EXPECT_EQ(entry.enabled, std::string(entry.name) != "cse");
    EXPECT_EQ(entry.applied == 0, entry.before == entry.after);
    if (i > 0) {
      EXPECT_EQ(entry.before, report[i - 1].after);
      EXPECT_EQ(entry.nodes_before, report[i - 1].nodes_after);
    }
  }
  EXPECT_EQ(report.front().before, to_text(chain.expr));
  const auto applied = [&](const char* name) {
    return report[static_cast<std::size_t>(find_pass(name) - all_passes().data())].applied;
  };
  // Bias, mean, deviation, scale, shift: five to one; and in the activation two to one.
  EXPECT_EQ(applied("fold_batchnorm"), 4 + 1);
  EXPECT_GT(applied("contract_fma"), 0);
  std::vector<PassReport> short_report;
  optimize(chain, options, &short_report);
  EXPECT_EQ(short_report.front().before, "");
}

TEST(Passes, CanonicalizeCannotBeSwitchedOff) {
  PassOptions all_off;
  all_off.disabled = ~0u;
  for (const PassInfo& pass : all_passes())
    EXPECT_EQ(all_off.is_enabled(pass), !pass.switchable) << pass.name;
  EXPECT_FALSE(find_pass("canonicalize")->switchable);
  EXPECT_EQ(find_pass("unroll"), nullptr);
}

// The expression's value when every function's result is off by up to 1e-13: how much it may move
// under any reordering of exact arithmetic.
double disturbed(const Expr& expr, const LeafValues& leaves, test::Random& random) {
  std::vector<double> values;
  const auto argument = [&](Ref ref) { return ref == kNoRef ? 0 : values[std::size_t(ref)]; };
  for (Ref ref = 0; ref < expr.graph.size(); ++ref) {
    const Node& node = expr.graph[ref];
    if (node.leaf != Leaf::none) {
      Expr leaf;
      leaf.roots = {leaf.graph.push(node)};
      values.push_back(evaluate(leaf, leaves).front());
    } else {
      const auto& [a, b, c] = node.args;
      values.push_back(apply(node.fn, argument(a), argument(b), argument(c)));
    }
    // Whole numbers are exponents: powers of negative values exist for no others near them.
    if (values.back() != std::floor(values.back()))
      values.back() *= 1 + random.uniform(-1e-13, 1e-13);
  }
  return argument(expr.roots.front());
}

TEST(Passes, AnySubsetKeepsTheValue) {
  test::Random random(5);
  int compared = 0, total = 0;
  for (int i = 0; i < 3000; ++i) {
    const Problem problem = test::random_problem(random, 12);
    const Chain chain = lower(problem);
    PassOptions options;
    options.disabled = static_cast<std::uint32_t>(random.between(0, 255));
    const SplitChain parts = optimize(chain, options);
    for (int sample = 0; sample < 4; ++sample, ++total) {
      const test::RandomLeaves leaves = test::random_leaves(random, chain);
      const LeafValues values = test::leaf_values(leaves);
      const double expected = evaluate(chain.expr, values).front();
      double allowed = 1e-15 * std::fabs(expected);
      for (int run = 0; run < 16; ++run) {
        const double moved = std::fabs(disturbed(chain.expr, values, random) - expected);
        if (!(moved <= allowed)) allowed = moved;  // NaN too, which then compares with nothing
      }
      if (!std::isfinite(expected) || !(allowed <= 1e-6 * std::fabs(expected))) continue;
      ++compared;
      ASSERT_NEAR(test::evaluate_parts(parts, leaves), expected, allowed)
          << to_text(problem) << "\nwithout passes " << options.disabled << "\n"
          << to_text(chain.expr) << "\n"
          << to_text(parts.body);
    }
  }
  EXPECT_GT(compared, total * 9 / 10);
}

}  // namespace
}  // namespace fuseplan
