// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cfloat>
#include <cstdlib>
#include <limits>

#include "expr/intern.hpp"
#include "expr/passes.hpp"
#include "expr/readers.hpp"
#include "expr/term.hpp"

namespace fuseplan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string source_of(const Expr& expr) {
  return gpu_source(
      expr,
      [](const Node& node) {
        return (node.leaf == Leaf::input ? std::string("in") : "p" + std::to_string(node.index));
      },
      [](std::size_t root, const std::string& name) {
        return "out[" + std::to_string(root) + "] = " + name + ";\n";
      });
}

TEST(ExprText, SharedResultsAreSpelledOnce) {
  Expr expr;
  Term x{&expr.graph, expr.graph.leaf(Leaf::input)};
  for (int i = 0; i < 60; ++i) x = x + x;  // 2^60 leaves if expanded
  expr.roots = {x.ref};
  const std::string text = to_text(expr);
  EXPECT_TRUE(text.starts_with("t0=add(x,x); t1=add(t0,t0); ")) << text;
  EXPECT_TRUE(text.ends_with("; add(t58,t58)")) << text;
}

TEST(ExprText, SeveralRoots) {
  Expr expr;
  const Term x{&expr.graph, expr.graph.leaf(Leaf::input)};
  const Term e = exp(x);
  expr.roots = {e.ref, (e + 1.5).ref, x.ref};
  EXPECT_EQ(to_text(expr), "t0=exp(x); t0; add(t0,1.5); x");
}

TEST(ExprText, CompactDropsWhatNoRootNeeds) {
  Expr expr;
  const Term x{&expr.graph, expr.graph.leaf(Leaf::input)};
  exp(x);
  expr.roots = {(x * 2).ref};
  EXPECT_EQ(expr.graph.size(), 4);
  EXPECT_EQ(compact(expr).graph.size(), 3);
  EXPECT_EQ(to_text(compact(expr)), to_text(expr));
}

TEST(ExprText, CompactOrdersNodesByTheirUse) {
  Expr expr;
  const Term x{&expr.graph, expr.graph.leaf(Leaf::input)};
  const Term late = exp(x), early = tanh(x);
  expr.roots = {(early + late).ref};
  const Expr ordered = compact(expr);
  EXPECT_EQ(ordered.graph[1].fn, Fn::tanh_);
  EXPECT_EQ(ordered.graph[2].fn, Fn::exp_);
  EXPECT_EQ(compact(ordered), ordered);
}

TEST(ExprText, ArgumentsStandBeforeTheirNode) {
  Graph graph;
  EXPECT_ANY_THROW(graph.call(Fn::neg_, 0));
  const Ref x = graph.leaf(Leaf::input);
  EXPECT_ANY_THROW(graph.call(Fn::add_, x));
  EXPECT_ANY_THROW(graph.call(Fn::neg_, x, x));
  EXPECT_EQ(graph.size(), 1);
}

TEST(ExprText, EqualNodesAreInternedByBits) {
  Graph graph;
  Interner interner(graph);
  const auto constant = [&](double value) {
    return interner.push({.leaf = Leaf::constant, .value = value});
  };
  EXPECT_EQ(constant(1), constant(1));
  EXPECT_NE(constant(0.0), constant(-0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(constant(nan), constant(nan));
  const Ref a = interner.push({.leaf = Leaf::scalar, .index = 0}),
            b = interner.push({.leaf = Leaf::scalar, .index = 1});
  EXPECT_NE(a, b);
  const auto call = [&](Fn fn, Ref left, Ref right) {
    return interner.push({.fn = fn, .args = {left, right, kNoRef}});
  };
  EXPECT_EQ(call(Fn::mul_, a, b), call(Fn::mul_, b, a));
  EXPECT_NE(call(Fn::max_, a, b), call(Fn::max_, b, a));
}

TEST(ExprText, NodesOfAGraphThatHasManyAreInterned) {
  Graph graph;
  for (int i = 0; i < 100; ++i) graph.leaf(Leaf::scalar, i);
  Interner interner(graph);
  EXPECT_EQ(interner.push({.leaf = Leaf::scalar, .index = 70}), 70);
  for (int i = 100; i < 300; ++i) EXPECT_EQ(interner.push({.leaf = Leaf::scalar, .index = i}), i);
  EXPECT_EQ(graph.size(), 300);
}

TEST(GpuSource, OneLineAFunction) {
  const Chain chain = lower(parse_problem(
      "f32:1x4x8x8;conv(f32:8x4x3x3);bias(f32:8);norm(spatial,f32:8);activation(silu)"));
  EXPECT_EQ(source_of(optimize(chain, {}).body),
            "const float t0 = fmaf(in, p0, p1);\n"
            "const float t1 = fp_max((-3.40282347e+38f), t0);\n"
            "const float t2 = fp_logistic(t0);\n"
            "const float t3 = (t1 * t2);\n"
            "out[0] = t3;\n");
}

TEST(GpuSource, RootsMayBeLeaves) {
  Expr expr;
  const Term x{&expr.graph, expr.graph.leaf(Leaf::input)};
  exp(x);  // needed by no root
  expr.roots = {x.ref, x.constant(-2).ref};
  EXPECT_EQ(source_of(expr), "out[0] = in;\nout[1] = (-2.00000000f);\n");
}

TEST(GpuSource, ConstantsAreExactFloats) {
  const auto spelled = [](double value) {
    Expr expr;
    expr.roots = {expr.graph.constant(value)};
    std::string text = source_of(expr);
    return text.substr(9, text.size() - 11);
  };
  EXPECT_EQ(spelled(1), "1.00000000f");
  EXPECT_EQ(spelled(-0.0), "(-0.00000000f)");
  EXPECT_EQ(spelled(-FLT_MAX), "(-3.40282347e+38f)");
  EXPECT_EQ(spelled(kInf), "FP_INFINITY");
  EXPECT_EQ(spelled(-kInf), "(-FP_INFINITY)");
  EXPECT_EQ(spelled(std::numeric_limits<double>::quiet_NaN()), "FP_NAN");
  for (double value : {0.1, 1.0 / 3, 0.7071067811865476, 1e-42, 123456789.0})
    EXPECT_EQ(std::strtof(spelled(value).c_str(), nullptr), static_cast<float>(value))
        << spelled(value);
}

TEST(GpuSource, EveryFunctionIsSpelledOut) {
  for (int i = 0; i < function_count(); ++i) {
    const FnInfo& info = info_of(static_cast<Fn>(i));
    EXPECT_EQ(static_cast<int>(info.fn), i);
    Expr expr;
    std::array<Ref, 3> args{kNoRef, kNoRef, kNoRef};
    for (int arg = 0; arg < info.arity; ++arg)
      args[static_cast<std::size_t>(arg)] = expr.graph.leaf(Leaf::element, arg);
    expr.roots = {expr.graph.call(info.fn, args[0], args[1], args[2])};
    const std::string source = source_of(expr);
    for (int arg = 0; arg < 3; ++arg)
      EXPECT_EQ(source.find("p" + std::to_string(arg)) != std::string::npos, arg < info.arity)
          << source;
  }
}

}  // namespace
}  // namespace fuseplan
