// SPDX-License-Identifier: MIT
// The tolerance admits honest f32 arithmetic and nothing worse: each fault below must be seen.
#include "support/tolerance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "support/gtest.hpp"

namespace fuseplan::test {
namespace {

/// conv 3x3 + bias + activation over random data, with a naive f32 implementation beside it.
struct Chain {
  explicit Chain(Element type, std::int64_t channels = 64)
      : x(type, {1, channels, 7, 7}),
        w(type, {8, channels, 3, 3}),
        bias(Element::f32, {1, 8, 1, 1}),
        random(channels) {
    random.fill(x);
    random.fill(w);
    random.fill(bias, 0.1, 0.5);
  }

  std::vector<Step> steps() const {
    return {{Convolution{&w, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
            {Bias{&bias}},
            {Activation{Mode::TANH, 0.05, 1}}};
  }

  /// How the naive implementation goes wrong, if it does.
  struct Fault {
    std::int64_t skip_channel = -1;  ///< input channel whose centre tap is left out
    bool no_bias = false, no_activation = false, half_sums = false;
  };
  HostTensor compute(const Fault& fault) const {
    HostTensor y(x.type(), {1, 8, 7, 7});
    Dims at(4, 0);
    do {
      float sum = 0;
      for (std::int64_t c = 0; c < x.dims()[1]; ++c)
        for (std::int64_t t = 0; t < 9; ++t) {
          const std::int64_t h = at[2] + t / 3 - 1, v = at[3] + t % 3 - 1;
          if (h < 0 || v < 0 || h > 6 || v > 6 || (c == fault.skip_channel && t == 4)) continue;
          sum += static_cast<float>(x.get({0, c, h, v})) *
                 static_cast<float>(w.get({at[1], c, t / 3, t % 3}));
          if (fault.half_sums) sum = static_cast<float>(stored(Element::f16, sum));
        }
      if (!fault.no_bias) sum += static_cast<float>(bias.get({0, at[1], 0, 0}));
      y.set(at, fault.no_activation ? sum : std::tanh(0.05f * sum));
    } while (advance(at, y.dims()));
    return y;
  }

  HostTensor x, w, bias;
  Random random;
};

class Tolerance : public ::testing::TestWithParam<Element> {};

TEST_P(Tolerance, AdmitsF32Arithmetic) {
  for (const std::int64_t channels : {1, 3, 64, 300}) {
    const Chain chain(GetParam(), channels);
    EXPECT_TRUE(is_close(chain.compute({}), run_reference(chain.x, chain.steps()))) << channels;
  }
}

TEST_P(Tolerance, SeesFaults) {
  const Chain chain(GetParam());
  const ReferenceResult expected = run_reference(chain.x, chain.steps());
  EXPECT_FALSE(is_close(chain.compute({.no_bias = true}), expected));
  EXPECT_FALSE(is_close(chain.compute({.no_activation = true}), expected));
  EXPECT_FALSE(is_close(chain.compute({.skip_channel = 17}), expected));
}

INSTANTIATE_TEST_SUITE_P(Types, Tolerance,
                         ::testing::Values(Element::f32, Element::f16, Element::bf16),
                         [](const auto& info) { return name_of(info.param); });

TEST(Tolerance, SeesHalfPrecisionSums) {
  const Chain chain(Element::f16);
  EXPECT_FALSE(is_close(chain.compute({.half_sums = true}), run_reference(chain.x, chain.steps())));
}

TEST(Tolerance, SeesOneWrongElementAndSaysWhere) {
  const Chain chain(Element::f32);
  const ReferenceResult expected = run_reference(chain.x, chain.steps());
  HostTensor y = chain.compute({});
  y.set({0, 5, 3, 2}, y.get({0, 5, 3, 2}) + 1e-3);
  const Comparison comparison = compare(y, expected);
  EXPECT_EQ(comparison.mismatches, 1);
  EXPECT_EQ(comparison.worst_index, (Dims{0, 5, 3, 2}));
  EXPECT_GT(comparison.worst_ratio, 10);
  const auto larger = [](Bounded a, Bounded b) { return std::fabs(a.value) < std::fabs(b.value); };
  const auto largest = std::max_element(expected.values.begin(), expected.values.end(), larger);
  EXPECT_NEAR(comparison.max_relative_error, 1e-3 / std::fabs(largest->value), 1e-6);
  EXPECT_NE(comparison.describe().find("[0x5x3x2]"), std::string::npos) << comparison.describe();
}

TEST(Tolerance, SeesWritesOutsideTheOutput) {
  const Chain chain(Element::f32);
  HostTensor y = chain.compute({});
  static_cast<float*>(y.data())[y.elements()] = 0;
  EXPECT_FALSE(is_close(y, run_reference(chain.x, chain.steps())));
}

TEST(Tolerance, ExactOperationsMustBeExact) {
  Random random;
  for (const Mode mode : {Mode::PASTHRU, Mode::RELU, Mode::ABS, Mode::CLAMP, Mode::CLIPPEDRELU}) {
    for (const Element type : {Element::f32, Element::f16, Element::bf16}) {
      HostTensor x(type, {1, 2, 3, 4});
      random.fill(x, 0.5, 1);
      const std::vector<Step> steps{{Activation{mode, 0.125, 2}}};
      const std::vector<Step> capped{{Activation{mode, 2, 2}}};
      const ReferenceResult expected = run_reference(x, mode == Mode::CLIPPEDRELU ? capped : steps);
      HostTensor y = x;
      EXPECT_TRUE(is_close(y, expected));
      y.set({0, 1, 2, 3}, decode(type, encode(type, y.get({0, 1, 2, 3})) + 1));
      EXPECT_FALSE(is_close(y, expected)) << name_of(type) << static_cast<int>(mode);
    }
  }
}

TEST(Tolerance, ClassesOfSpecialValuesMustMatch) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  HostTensor x(Element::f16, {1, 1, 1, 4});
  x.set_values(std::vector<double>{nan, inf, -inf, 65504});
  const HostTensor two = [] {
    HostTensor t(Element::f32, {1, 1, 1, 1});
    t.fill(2);
    return t;
  }();
  const ReferenceResult expected = run_reference(x, std::vector<Step>{{ScaleShift{&two, &two}}});
  HostTensor y = x.like();
  y.set_values(std::vector<double>{nan, inf, -inf, inf});
  EXPECT_TRUE(is_close(y, expected));
  const std::vector<std::vector<double>> wrong = {{0, inf, -inf, inf},     {nan, 65504, -inf, inf},
                                                  {nan, inf, inf, inf},    {nan, nan, -inf, inf},
                                                  {nan, inf, -inf, 65504}, {nan, inf, -inf, nan}};
  for (const auto& values : wrong) {
    y.set_values(values);
    EXPECT_EQ(compare(y, expected).mismatches, 1);
  }
}

TEST(Tolerance, FlushedDenormalsAreClose) {
  HostTensor x(Element::f32, {1, 1, 1, 3});
  x.set_values(std::vector<double>{1e-39, -1e-38, 2e-38});
  HostTensor scale(Element::f32, {1, 1, 1, 1}), shift = scale;
  scale.fill(8);
  shift.fill(0);
  const ReferenceResult expected =
      run_reference(x, std::vector<Step>{{ScaleShift{&scale, &shift}}});
  HostTensor y = x.like();
  y.set_values(std::vector<double>{0, 0, 16e-38});
  EXPECT_TRUE(is_close(y, expected));
  y.set_values(std::vector<double>{0, 0, 0});
  EXPECT_FALSE(is_close(y, expected));
}

TEST(Tolerance, UndeterminedElementsCannotCarryATest) {
  HostTensor x(Element::f32, {1, 1, 8, 8});
  x.fill(1);
  HostTensor minus_one(Element::f32, {1, 1, 1, 1});
  minus_one.fill(-1 + 0x1p-24);
  // 1 + (-1 + 2^-24) is a handful of roundings away from a negative base of a square root.
  const std::vector<Step> steps{{Activation{Mode::LOGISTIC}, 1},
                                {Activation{Mode::POWER, -0.7310585786300049, 1, 0.5}}};
  const Comparison comparison = compare(x, run_reference(x, steps));
  EXPECT_EQ(comparison.undetermined, 64);
  EXPECT_FALSE(comparison.ok());
}

// Each activation as a careful f32 programmer writes it, over the range that matters.
struct FloatActivation {
  Mode mode;
  float a, b, g;
  std::function<float(float)> compute;
};
float logistic(float v) { return 1 / (1 + std::exp(-v)); }
float softrelu(float v) { return std::max(v, 0.0f) + std::log1p(std::exp(-std::fabs(v))); }
float hard(float v) { return std::max(0.0f, std::min(1.0f, v / 6 + 0.5f)); }
const FloatActivation kFloatActivations[] = {
    {Mode::LOGISTIC, 0, 0, 0, logistic},
    {Mode::TANH, 0.7f, 1.3f, 0, [](float v) { return 1.3f * std::tanh(0.7f * v); }},
    {Mode::SOFTRELU, 0, 0, 0, softrelu},
    {Mode::POWER, 25, 1.1f, 1.7f, [](float v) { return std::pow(25 + 1.1f * v, 1.7f); }},
    {Mode::LEAKYRELU, 0.01f, 0, 0, [](float v) { return v > 0 ? v : 0.01f * v; }},
    {Mode::ELU, 1.5f, 0, 0, [](float v) { return v > 0 ? v : 1.5f * std::expm1(v); }},
    {Mode::GELU_ERF, 0, 0, 0, [](float v) { return 0.5f * v * (1 + std::erf(v * 0.70710678f)); }},
    {Mode::GELU_TANH, 0, 0, 0,
     [](float v) {
       return 0.5f * v * (1 + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
     }},
    {Mode::SILU, 0, 0, 0, [](float v) { return v * logistic(v); }},
    {Mode::MISH, 0, 0, 0, [](float v) { return v * std::tanh(softrelu(v)); }},
    {Mode::HARDSWISH, 1.0f / 6, 0.5f, 0, [](float v) { return v * hard(v); }},
    {Mode::HARDSIGMOID, 1.0f / 6, 0.5f, 0, hard},
    {Mode::SOFTPLUS, 2.5f, 0, 0, [](float v) { return softrelu(2.5f * v) / 2.5f; }},
};

TEST(Tolerance, ActivationsAdmitF32AndSee64Ulps) {
  Random random;
  for (const FloatActivation& f : kFloatActivations) {
    HostTensor x(Element::f32, {1, 16, 8, 8}), y = x.like(), off = x.like();
    random.fill(x, -20, 20);
    Dims at(4, 0);
    do {
      const float value = f.compute(static_cast<float>(x.get(at)));
      y.set(at, value);
      off.set(at, value * (1 + 64 * 0x1p-23f));
    } while (advance(at, x.dims()));
    const ReferenceResult expected =
        run_reference(x, std::vector<Step>{{Activation{f.mode, f.a, f.b, f.g}}});
    const Comparison comparison = compare(y, expected);
    EXPECT_TRUE(comparison.ok()) << static_cast<int>(f.mode) << ": " << comparison.describe();
    EXPECT_GT(compare(off, expected).mismatches, x.elements() / 4) << static_cast<int>(f.mode);
  }
}

TEST(Tolerance, IntegersHaveTheLowestForNaN) {
  const ReferenceResult expected{{1, 1}, {{std::nan("")}}};
  for (const auto& [type, lowest] : {std::pair{Element::i8, -128.0}, {Element::u8, 0.0}}) {
    HostTensor y(type, {1, 1});
    y.set({0, 0}, lowest);
    EXPECT_TRUE(is_close(y, expected)) << name_of(type);
    y.set({0, 0}, lowest + 1);
    EXPECT_FALSE(is_close(y, expected)) << name_of(type);
  }
  HostTensor y(Element::f32, {1, 1});
  for (const double value : {0.0, std::nan("")}) {
    y.set({0, 0}, value);
    EXPECT_EQ(is_close(y, expected), std::isnan(value));
  }
}

}  // namespace
}  // namespace fuseplan::test
