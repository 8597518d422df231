// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "expr/readers.hpp"
#include "kernels/cpu/portable/chain_interpreter.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

using Interpreter = cpu::ChainInterpreter<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Values on which implementations of the functions like to differ.
std::vector<float> interesting_values(Random& random) {
  std::vector<float> values{0.0f,  -0.0f,  1.0f,      -1.0f,      0.5f,         88.0f, -87.0f,
                            1e-6f, -1e-6f, 1e30f,     -1e30f,     1e-30f,       10.0f, -10.0f,
                            3.0f,  -0.75f, kInfinity, -kInfinity, std::nanf("")};
  for (float scale : {1e-3f, 0.1f, 1.0f, 12.0f, 100.0f})
    for (int i = 0; i < 45; ++i)
      values.push_back(static_cast<float>(random.uniform(-scale, scale)));
  return values;
}

// Binds every leaf from `input` (leaf.index shifts it) and compares all roots with evaluate().
void expect_like_evaluate(const Expr& expr, const std::vector<float>& input, double ulps) {
  const Interpreter interpreter(expr);
  Scratch scratch;
  Interpreter::Frame frame(interpreter, scratch);
  std::vector<std::vector<float>> leaves;
  for (const auto& leaf : interpreter.leaves()) {
    leaves.emplace_back(input);
    std::rotate(leaves.back().begin(), leaves.back().begin() + leaf.index, leaves.back().end());
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) frame.bind(i, leaves[i].data());
  frame.run(input.size());
  for (std::size_t lane = 0; lane < input.size(); ++lane) {
    const auto element = [&](std::size_t index) {
      return double{input[(lane + index) % input.size()]};
    };
    const std::vector<double> elements{element(0), element(1), element(2)};
    const std::vector<double> expected =
        evaluate(expr, {.input = element(0), .scalars = {}, .channels = {}, .elements = elements});
    for (std::size_t r = 0; r < expected.size(); ++r) {
      const float want = static_cast<float>(expected[r]), got = frame.root(r)[lane];
      if (std::isnan(want) || std::isinf(want)) {
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
            << to_text(expr) << elements[0];
      } else {
        const double unit = std::max(std::fabs(double{want}) * 0x1p-23, 0x1p-126);
        EXPECT_LE(std::fabs(double{got} - expected[r]), ulps * unit)
            << to_text(expr) << " at " << elements[0] << ", " << elements[1] << ", " << elements[2];
      }
    }
  }
}

TEST(PortableInterpreter, EveryFunction) {
  Random random(31);
  const std::vector<float> values = interesting_values(random);
  for (int number = 0; number < function_count(); ++number) {
    const Fn fn = static_cast<Fn>(number);
    if (fn == Fn::fma_) continue;  // cancels; Random graphs below
    Expr expr;
    Ref args[3] = {kNoRef, kNoRef, kNoRef};
    for (int i = 0; i < info_of(fn).arity; ++i) args[i] = expr.graph.leaf(Leaf::element, i);
    expr.roots = {expr.graph.call(fn, args[0], args[1], args[2])};
    expect_like_evaluate(expr, values, 3);
  }
}

// Exact functions only, so that graphs of any depth have one right answer.
TEST(PortableInterpreter, LargeGraphsReuseBlocks) {
  Random random(32);
  const std::vector<float> values = interesting_values(random);
  const Fn exact[] = {Fn::neg_, Fn::abs_, Fn::min_, Fn::max_, Fn::select_};
  for (int round = 0; round < 30; ++round) {
    Expr expr;
    for (int i = 0; i < 3; ++i) expr.graph.leaf(Leaf::element, i);
    expr.graph.leaf(Leaf::input);
    expr.graph.constant(0.25);
    const int nodes = static_cast<int>(random.between(1, 400));
    for (int i = 0; i < nodes; ++i) {
      const Fn fn = exact[random.between(0, 4)];
      Ref args[3] = {kNoRef, kNoRef, kNoRef};
      for (int a = 0; a < info_of(fn).arity; ++a)
        args[a] = static_cast<Ref>(
            random.between(std::max<Ref>(0, expr.graph.size() - 40), expr.graph.size() - 1));
      expr.graph.call(fn, args[0], args[1], args[2]);
    }
    const Ref last = expr.graph.size() - 1;
    expr.roots = {last, 0, 4, last / 2, last};
    expect_like_evaluate(expr, values, 0);
  }
}

TEST(PortableInterpreter, FusedMultiplyAddHasTwoRoundings) {
  Expr expr;
  const Ref x = expr.graph.leaf(Leaf::input);
  expr.roots = {expr.graph.call(Fn::fma_, x, expr.graph.constant(3), expr.graph.constant(0.5))};
  Random random(33);
  std::vector<float> values(64);
  for (float& value : values) value = static_cast<float>(random.uniform(0, 10));
  expect_like_evaluate(expr, values, 1);
}

}  // namespace
}  // namespace fuseplan::test
