// SPDX-License-Identifier: MIT
// Every activation's expression against the oracle's formula, in double.
#include "expr/activations.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "expr/readers.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"

namespace fuseplan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Arguments {
  double a, b, g;
};

Expr expression_of(Activation mode) {
  Expr expr;
  const Ref x = expr.graph.leaf(Leaf::input);
  const Ref a = expr.graph.leaf(Leaf::scalar, 0), b = expr.graph.leaf(Leaf::scalar, 1),
            g = expr.graph.leaf(Leaf::scalar, 2);
  expr.roots = {activation(expr.graph, mode, x, a, b, g)};
  return compact(expr);
}

double value_of(const Expr& expr, double x, const Arguments& arguments) {
  const double scalars[] = {arguments.a, arguments.b, arguments.g};
  return evaluate(expr, {.input = x, .scalars = scalars, .channels = {}, .elements = {}}).front();
}

// 1 + erf and 1 + tanh of the oracle cancel for negative x, which costs |x| ulps of 1.
bool agree(double actual, double expected, double x) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (actual == expected || std::isinf(expected)) return actual == expected;
  return std::fabs(actual - expected) <= 1e-13 * std::fabs(expected) + 1e-15 * std::fabs(x);
}

class ActivationFormula : public ::testing::TestWithParam<ActivationInfo> {};

TEST_P(ActivationFormula, AgreesWithTheOracle) {
  const Expr expr = expression_of(GetParam().mode);
  const auto mode = static_cast<test::Mode>(GetParam().mode);
  std::vector<double> inputs = {0.0,  -0.0,  1.0,   -1.0,   kInf,   -kInf,   kNan,
                                1e30, -1e30, 1e-30, -1e-30, 5e-324, -5e-324, DBL_MAX,
                                88.0, -88.0, 709.0, -745.0, 20.0,   -20.0,   1e-9};
  std::vector<Arguments> arguments = {{1, 0, 1}, {0, 0, 0},      {0.125, 1, 2}, {-0.5, 2, 3},
                                      {6, 1, 1}, {0.25, 0.5, 1}, {-1, 1, -1},   {2, -3, 0.5}};
  test::Random random(3);
  for (int i = 0; i < 500; ++i) inputs.push_back(random.uniform(-10, 10));
  for (int i = 0; i < 8; ++i) {
    const auto scalar = [&] { return double{static_cast<float>(random.uniform(-3, 3))}; };
    arguments.push_back({scalar(), scalar(), scalar()});
  }
  for (const Arguments& scalars : arguments)
    for (double x : inputs) {
      const double expected =
          test::activate({mode, scalars.a, scalars.b, scalars.g}, test::Bounded{x}).value;
      const double actual = value_of(expr, x, scalars);
      EXPECT_TRUE(agree(actual, expected, x))
          << GetParam().text << "(" << x << ") with " << scalars.a << ", " << scalars.b << ", "
          << scalars.g << " is " << actual << ", expected " << expected;
    }
}

TEST_P(ActivationFormula, NanGoesThrough) {
  EXPECT_TRUE(std::isnan(value_of(expression_of(GetParam().mode), kNan, {1, 2, 3})));
}

std::string name_of_case(const ::testing::TestParamInfo<ActivationInfo>& info) {
  return info.param.text;
}
INSTANTIATE_TEST_SUITE_P(All, ActivationFormula,
                         ::testing::ValuesIn(all_activations().begin(), all_activations().end()),
                         name_of_case);

TEST(ActivationValues, KnownOnes) {
  constexpr struct {
    Activation mode;
    Arguments arguments;
    double x, y;
  } kCases[] = {
      {Activation::LOGISTIC, {}, 0, 0.5},
      {Activation::LOGISTIC, {}, -kInf, 0},
      {Activation::TANH, {2, 3, 0}, kInf, 3},
      {Activation::RELU, {}, -kInf, 0},
      {Activation::SOFTRELU, {}, -kInf, 0},
      {Activation::SOFTRELU, {}, 1000, 1000},
      {Activation::SOFTRELU, {}, 0, 0.69314718055994531},
      {Activation::POWER, {1, 2, 3}, 1.5, 64},
      {Activation::POWER, {1, -1, 2}, 3, 4},
      {Activation::TRUNCATEDPOWER, {1, 2, 3}, 1.5, 64},
      {Activation::TRUNCATEDPOWER, {0, 1, 3}, -1.5, 0},
      {Activation::TRUNCATEDPOWER, {0, 1, -1}, 1e-6, 0},
      {Activation::CLIPPEDRELU, {6, 0, 0}, kInf, 6},
      {Activation::LEAKYRELU, {0, 0, 0}, -kInf, 0},
      {Activation::LEAKYRELU, {0.5, 0, 0}, -kInf, -kInf},
      {Activation::LEAKYRELU, {-0.5, 0, 0}, -4, 2},
      {Activation::ELU, {2, 0, 0}, -kInf, -2},
      {Activation::ELU, {2, 0, 0}, -1e-20, -2e-20},
      {Activation::CLAMP, {-1, 2, 0}, -kInf, -1},
      {Activation::CLAMP, {-1, 2, 0}, kInf, 2},
      {Activation::CLAMP, {-FLT_MAX, FLT_MAX, 0}, -3.5, -3.5},
      {Activation::GELU_ERF, {}, 40, 40},
      {Activation::GELU_TANH, {}, -40, 0},
      {Activation::GELU_ERF, {}, -kInf, 0},
      {Activation::GELU_TANH, {}, -kInf, 0},
      {Activation::SILU, {}, -kInf, 0},
      {Activation::MISH, {}, -kInf, 0},
      {Activation::HARDSWISH, {0.25, 0.5, 0}, -kInf, 0},
      {Activation::HARDSWISH, {0.25, 0.5, 0}, -3, 0},
      {Activation::HARDSWISH, {0.25, 0.5, 0}, 1, 0.75},
      {Activation::HARDSIGMOID, {0.25, 0.5, 0}, 100, 1},
      {Activation::SOFTPLUS, {2, 0, 0}, 1000, 1000},
      {Activation::SOFTPLUS, {-2, 0, 0}, 1000, 0},
  };
  for (const auto& row : kCases) {
    const double y = value_of(expression_of(row.mode), row.x, row.arguments);
    EXPECT_NEAR(y == row.y ? 0 : y - row.y, 0, 1e-15) << name_of(row.mode) << "(" << row.x << ")";
  }
}

TEST(ActivationValues, OnlyTheScalarsThatAModeReads) {
  constexpr struct {
    Activation mode;
    const char* reads;
  } kCases[] = {
      {Activation::PASTHRU, ""},
      {Activation::LOGISTIC, ""},
      {Activation::TANH, "ab"},
      {Activation::RELU, ""},
      {Activation::SOFTRELU, ""},
      {Activation::ABS, ""},
      {Activation::POWER, "abg"},
      {Activation::CLIPPEDRELU, "a"},
      {Activation::LEAKYRELU, "a"},
      {Activation::ELU, "a"},
      {Activation::CLAMP, "ab"},
      {Activation::GELU_ERF, ""},
      {Activation::GELU_TANH, ""},
      {Activation::SILU, ""},
      {Activation::MISH, ""},
      {Activation::HARDSWISH, "ab"},
      {Activation::HARDSIGMOID, "ab"},
      {Activation::SOFTPLUS, "a"},
      {Activation::TRUNCATEDPOWER, "abg"},
  };
  ASSERT_EQ(std::size(kCases), all_activations().size());
  for (const auto& [mode, reads] : kCases) {
    const Expr expr = expression_of(mode);
    bool found[3] = {};
    for (Ref ref = 0; ref < expr.graph.size(); ++ref)
      if (expr.graph[ref].leaf == Leaf::scalar) found[expr.graph[ref].index] = true;
    std::string names;
    for (int i = 0; i < 3; ++i)
      if (found[i]) names += "abg"[i];
    EXPECT_EQ(names, reads) << name_of(mode);
  }
}

}  // namespace
}  // namespace fuseplan
