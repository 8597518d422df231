// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

#include "emit_kernel.hpp"
#include "expr/functions.hpp"
#include "expr/term.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

using cpu::Isa;

/// |got - want| in units in the last place of want; results below the normal range may be zero.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : HUGE_VAL;
  const auto nearest = static_cast<float>(want);
  if (std::isinf(nearest) || std::isnan(got)) {
    const bool edge =
        std::fabs(want) < 1.0000005 * FLT_MAX && std::fabs(got) > 0.9999995f * FLT_MAX;
    return got == nearest || edge ? 0 : HUGE_VAL;
  }
  if (std::isinf(got)) return std::fabs(want) > 0.9999995 * FLT_MAX ? 0 : HUGE_VAL;
  if (std::fabs(want) < 1.000001 * FLT_MIN &&
      std::fabs(static_cast<double>(got)) < 1.000001 * FLT_MIN)
    return 0;
  const double magnitude = std::max(std::fabs(want), static_cast<double>(FLT_MIN));
  return std::fabs(static_cast<double>(got) - want) / std::ldexp(1, std::ilogb(magnitude) - 23);
}

std::vector<float> specials() {
  std::vector<float> values;
  for (const float v : {0.0f,
                        1.0f,
                        2.0f,
                        3.0f,
                        0.5f,
                        0.25f,
                        FLT_MIN,
                        FLT_MAX,
                        8388608.0f,
                        16777216.0f,
                        16777217.0f,
                        2.5f,
                        7.0f,
                        88.7f,
                        1e-30f,
                        1e30f,
                        0.875f,
                        4.0f,
                        126.0f,
                        std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()})
    for (const float s : {v, -v}) values.push_back(s);
  return values;
}

/// Every exponent and sign with many significands, and the special values.
std::vector<float> all_over(int count) {
  std::vector<float> values = specials();
  const std::uint64_t step = (std::uint64_t{1} << 32) / static_cast<std::uint64_t>(count);
  Random random(7);
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step) {
    const auto offset =
        static_cast<std::uint64_t>(random.between(0, static_cast<std::int64_t>(step) - 1));
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits + offset));
    if (std::fpclassify(value) != FP_SUBNORMAL) values.push_back(value);
  }
  return values;
}

/// The expression of x and y through a kernel; y is an element tensor.
std::vector<float> compute(Isa isa, const Expr& body, const std::vector<float>& x,
                           const std::vector<float>& y = {}) {
  cpu::RowsSpec spec{
      .isa = isa, .body = body, .input = DType::f32, .output = DType::f32, .elements = {}};
  if (!y.empty()) spec.elements = {{DType::f32, true}};
  std::vector<float> out(x.size());
  const void* elements[] = {y.data()};
  const std::int64_t steps[] = {0};
  RowsKernel kernel(spec);
  kernel({.input = x.data(),
          .output = out.data(),
          .elements = elements,
          .element_steps = steps,
          .rows = 1,
          .lanes = static_cast<std::int64_t>(x.size())});
  return out;
}

/// fn(x) or fn(x, y)
std::vector<float> compute(Isa isa, Fn fn, const std::vector<float>& x,
                           const std::vector<float>& y = {}) {
  Expr body;
  const Ref a = body.graph.leaf(Leaf::input);
  const Ref b = y.empty() ? kNoRef : body.graph.leaf(Leaf::element);
  body.roots = {body.graph.call(fn, a, b)};
  return compute(isa, body, x, y);
}

struct FunctionCase {
  Fn fn;
  double max_ulps;
};
void PrintTo(const FunctionCase& c, std::ostream* out) { *out << info_of(c.fn).text; }

class EmitMath : public ::testing::TestWithParam<FunctionCase> {};

TEST_P(EmitMath, IsAccurateOverTheWholeRange) {
  const auto [fn, limit] = GetParam();
  const std::vector<float> x = all_over(1 << 20);
  for (const Isa isa : vector_isas()) {
    const std::vector<float> got = compute(isa, fn, x);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(got[i], apply(fn, static_cast<double>(x[i])));
      if (error > worst) {
        worst = error;
        where = x[i];
      }
    }
    EXPECT_LE(worst, limit) << info_of(fn).text << " on " << name_of(isa) << " at " << where;
    RecordProperty(std::string(name_of(isa)), std::to_string(worst));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Functions, EmitMath,
    ::testing::Values(FunctionCase{Fn::exp_, 1.0}, FunctionCase{Fn::expm1_, 2.0},
                      FunctionCase{Fn::log_, 1.5}, FunctionCase{Fn::log1p_, 1.5},
                      FunctionCase{Fn::tanh_, 2.5}, FunctionCase{Fn::erf_, 2.5},
                      FunctionCase{Fn::logistic_, 2.0}, FunctionCase{Fn::logistic2_, 2.5},
                      FunctionCase{Fn::rsqrt_, 1.5}, FunctionCase{Fn::sqrt_, 0.5},
                      FunctionCase{Fn::neg_, 0}, FunctionCase{Fn::abs_, 0}),
    [](const auto& info) { return std::string(info_of(info.param.fn).text); });

// Where an argument's bounds are known it is not clamped again: at the last bounds that do, beyond
// them, and at NaN.
TEST(EmitMath, ArgumentsWithinKnownBounds) {
  constexpr struct {
    Fn fn;
    double bound;
  } kCases[] = {{Fn::logistic_, 88}, {Fn::logistic2_, 127}};
  const std::vector<float> x = all_over(1 << 16);
  for (const auto& [fn, bound] : kCases) {
    Expr body;
    const Term input{&body.graph, body.graph.leaf(Leaf::input)};
    body.roots = {min(bound, max(-bound, input)).call(fn).ref};
    for (const Isa isa : vector_isas()) {
      const std::vector<float> got = compute(isa, body, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double inside = x[i] < -bound ? -bound : x[i] > bound ? bound : x[i];
        ASSERT_LE(ulps(got[i], apply(fn, inside)), 2.5)
            << info_of(fn).text << " on " << name_of(isa) << " at " << x[i] << " is " << got[i];
      }
    }
  }
}

TEST(EmitMath, PowerFollowsIeee) {
  const std::vector<float> edge = specials();
  std::vector<float> x, y;
  for (const float a : edge)
    for (const float b : edge) {
      x.push_back(a);
      y.push_back(b);
    }
  Random random(8);
  for (int i = 0; i < (1 << 19); ++i) {
    const double log2_base = random.uniform(-120, 120);
    const double base = std::exp2(log2_base);
    const bool whole = i % 4 == 0;
    const double exponent = random.uniform(-126, 126) / log2_base;
    x.push_back(static_cast<float>(whole ? -base : base));
    y.push_back(static_cast<float>(whole ? std::round(exponent) : exponent));
  }
  for (int i = 0; i < (1 << 17); ++i) {  // bases near 1, where the logarithm is small
    x.push_back(static_cast<float>(1 + random.uniform(-1e-3, 1e-3)));
    y.push_back(static_cast<float>(random.uniform(-8e4, 8e4)));
  }
  for (const Isa isa : vector_isas()) {
    const std::vector<float> got = compute(isa, Fn::pow_, x, y);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
      const double error = ulps(got[i], want);
      worst = std::max(worst, error);
      ASSERT_LE(error, 1.5) << name_of(isa) << ": pow(" << x[i] << ", " << y[i] << ") = " << got[i]
                            << ", not " << want;
      ASSERT_TRUE(want != 0 || std::signbit(got[i]) == std::signbit(want)) << x[i] << " " << y[i];
    }
    RecordProperty(std::string(name_of(isa)), std::to_string(worst));
  }
}

TEST(EmitMath, MinimumMaximumAndSelectTreatNanAsDefined) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{nan, 1, -0.0f, 0.0f, 2, nan, -1}, y{1, nan, 0.0f, -0.0f, 3, nan, -2};
  for (const Isa isa : vector_isas())
    for (const Fn fn : {Fn::min_, Fn::max_}) {
      const auto got = compute(isa, fn, x, y);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto want =
            static_cast<float>(apply(fn, static_cast<double>(x[i]), static_cast<double>(y[i])));
        EXPECT_TRUE(std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(want) ||
                    (std::isnan(got[i]) && std::isnan(want)))
            << info_of(fn).text << " " << x[i] << " " << y[i] << " gives " << got[i];
      }
    }
}

}  // namespace
}  // namespace fuseplan::test
