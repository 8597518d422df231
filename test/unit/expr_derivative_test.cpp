// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "chain_values.hpp"
#include "expr/activations.hpp"
#include "expr/term.hpp"

namespace fuseplan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Expr expression_of(Activation mode) {
  Expr expr;
  const Ref x = expr.graph.leaf(Leaf::input);
  const Ref a = expr.graph.leaf(Leaf::scalar, 0), b = expr.graph.leaf(Leaf::scalar, 1),
            g = expr.graph.leaf(Leaf::scalar, 2);
  expr.roots = {activation(expr.graph, mode, x, a, b, g)};
  return compact(expr);
}

double value_at(const Expr& expr, double x, const std::vector<double>& scalars) {
  return evaluate(expr, {.input = x, .scalars = scalars, .channels = {}, .elements = {}}).front();
}

// Fourth-order central differences. Over two widths they agree to rounding where the function is
// smooth; near a kink they do not, and there is nothing to compare.
struct Slope {
  double value;
  bool is_smooth;
};
template <typename F>
Slope slope(F&& f, double at) {
  const auto over = [&](double h) {
    return (8 * (f(at + h) - f(at - h)) - (f(at + 2 * h) - f(at - 2 * h))) / (12 * h);
  };
  const double wide = over(1e-3), narrow = over(0.7e-3);
  return {wide, std::fabs(wide - narrow) <= 1e-8 * (1 + std::fabs(wide))};
}

class ActivationDerivative : public ::testing::TestWithParam<ActivationInfo> {};

TEST_P(ActivationDerivative, AgreesWithDifferences) {
  const Expr expr = expression_of(GetParam().mode);
  const Expr derivative = differentiate(expr, Leaf::input);
  test::Random random(7);
  int checked = 0;
  for (int i = 0; i < 400; ++i) {
    const double x = random.uniform(-5, 5);
    const std::vector<double> scalars = {random.uniform(0.5, 2), random.uniform(2.5, 4), 3};
    const auto f = [&](double at) { return value_at(expr, at, scalars); };
    const auto [expected, is_smooth] = slope(f, x);
    if (!is_smooth) continue;
    ++checked;
    EXPECT_NEAR(value_at(derivative, x, scalars), expected, 1e-7 * (1 + std::fabs(expected)))
        << GetParam().text << "'(" << x << ") = " << to_text(derivative);
  }
  EXPECT_GT(checked, 300);
}

TEST_P(ActivationDerivative, ByItsScalars) {
  const Expr expr = expression_of(GetParam().mode);
  test::Random random(8);
  for (int index = 0; index < 3; ++index) {
    const Expr derivative = differentiate(expr, Leaf::scalar, index);
    for (int i = 0; i < 50; ++i) {
      const double x = random.uniform(0.1, 0.6);  // away from every kink for these scalars
      std::vector<double> scalars = {random.uniform(0.7, 2), random.uniform(2.5, 4), 3};
      const auto [expected, is_smooth] = slope(
          [&](double at) {
            std::vector<double> moved = scalars;
            moved[static_cast<std::size_t>(index)] = at;
            return value_at(expr, x, moved);
          },
          scalars[static_cast<std::size_t>(index)]);
      EXPECT_TRUE(is_smooth);
      EXPECT_NEAR(value_at(derivative, x, scalars), expected, 1e-7 * (1 + std::fabs(expected)))
          << GetParam().text << " by scalar " << index << ": " << to_text(derivative);
    }
  }
}

std::string name_of_case(const ::testing::TestParamInfo<ActivationInfo>& info) {
  return info.param.text;
}
INSTANTIATE_TEST_SUITE_P(All, ActivationDerivative,
                         ::testing::ValuesIn(all_activations().begin(), all_activations().end()),
                         name_of_case);

TEST(Derivative, AtTheKinks) {
  constexpr struct {
    Activation mode;
    double a, b, x, slope;
  } kCases[] = {
      {Activation::RELU, 0, 0, 0, 0},
      {Activation::ABS, 0, 0, 0, 0},
      {Activation::LEAKYRELU, 0.25, 0, 0, 0.25},
      {Activation::ELU, 0.25, 0, 0, 0.25},
      {Activation::CLIPPEDRELU, 6, 0, 0, 0},
      {Activation::CLIPPEDRELU, 6, 0, 6, 1},
      {Activation::CLAMP, -1, 2, -1, 0},
      {Activation::CLAMP, -1, 2, 2, 1},
      {Activation::SOFTRELU, 0, 0, 0, 0.5},
      {Activation::SOFTRELU, 0, 0, kInf, 1},
      {Activation::SOFTPLUS, 2, 0, 0, 0.5},
      {Activation::RELU, 0, 0, -kInf, 0},
      {Activation::TANH, 2, 3, 0, 6},
      {Activation::SILU, 0, 0, 0, 0.5},
  };
  for (const auto& row : kCases) {
    const Expr derivative = differentiate(expression_of(row.mode), Leaf::input);
    EXPECT_DOUBLE_EQ(value_at(derivative, row.x, {row.a, row.b, 0}), row.slope)
        << name_of(row.mode) << "'(" << row.x << ") = " << to_text(derivative);
  }
}

TEST(Derivative, ComesOutSimple) {
  const auto text = [](Activation mode) {
    return to_text(differentiate(expression_of(mode), Leaf::input));
  };
  EXPECT_EQ(text(Activation::PASTHRU), "1");
  EXPECT_EQ(text(Activation::RELU), "select(x,1,0)");
  EXPECT_EQ(text(Activation::LOGISTIC), "t0=logistic(x); mul(t0,sub(1,t0))");
  EXPECT_EQ(to_text(differentiate(expression_of(Activation::RELU), Leaf::element)), "0");
}

// Functions that no activation uses.
TEST(Derivative, OtherFunctions) {
  using Build = Term (*)(Term);
  const std::pair<Build, double (*)(double)> cases[] = {
      {[](Term x) { return x.call(Fn::sqrt_); }, [](double x) { return 0.5 / std::sqrt(x); }},
      {[](Term x) { return rsqrt(x); }, [](double x) { return -0.5 * std::pow(x, -1.5); }},
      {[](Term x) { return log(x); }, [](double x) { return 1 / x; }},
      {[](Term x) { return x - x * x; }, [](double x) { return 1 - 2 * x; }},
      {[](Term x) { return 1 / (x + 2); }, [](double x) { return -1 / ((x + 2) * (x + 2)); }},
      {[](Term x) { return x.call(Fn::fma_, x, x * x); }, [](double x) { return 4 * x; }},
      {[](Term x) { return pow(x, x); },
       [](double x) { return std::pow(x, x) * (std::log(x) + 1); }},
  };
  for (const auto& [build, expected] : cases) {
    Expr expr;
    const Term x{&expr.graph, expr.graph.leaf(Leaf::input)};
    expr.roots = {build(x).ref};
    for (double at : {0.25, 1.0, 3.5})
      EXPECT_NEAR(value_at(differentiate(expr, Leaf::input), at, {}), expected(at),
                  1e-13 * std::fabs(expected(at)) + 1e-15)
          << to_text(expr) << " at " << at;
  }
}

TEST(Derivative, OfWholeChains) {
  test::Random random(9);
  int checked = 0;
  for (int i = 0; i < 500; ++i) {
    const Chain chain = lower(test::random_problem(random, 4));
    const Expr derivative = differentiate(chain.expr, Leaf::input);
    test::RandomLeaves leaves = test::random_leaves(random, chain);
    const auto f = [&](double at) {
      test::RandomLeaves moved = leaves;
      moved.input = at;
      return evaluate(chain.expr, test::leaf_values(moved)).front();
    };
    const auto [expected, is_smooth] = slope(f, leaves.input);
    if (!is_smooth) continue;
    ++checked;
    const double actual = evaluate(derivative, test::leaf_values(leaves)).front();
    EXPECT_NEAR(actual, expected, 1e-7 * (1 + std::fabs(expected))) << to_text(chain.expr);
  }
  EXPECT_GT(checked, 300);
}

}  // namespace
}  // namespace fuseplan
