// SPDX-License-Identifier: MIT
// The oracle against hand-computed numbers and against a second formulation.
#include "support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/shapes.hpp"

namespace fuseplan::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

HostTensor tensor(const Dims& dims, std::initializer_list<double> values) {
  HostTensor result(Element::f32, dims);
  result.set_values(std::vector<double>(values));
  return result;
}

std::vector<double> values_of(const ReferenceResult& result) {
  std::vector<double> values;
  for (const Bounded& element : result.values) values.push_back(element.value);
  return values;
}

std::vector<double> run(const HostTensor& input, const std::vector<Step>& steps,
                        const HostTensor* previous = nullptr) {
  return values_of(run_reference(input, steps, previous));
}

using Numbers = std::vector<double>;

TEST(ReferenceConvolution, HandComputed) {
  const HostTensor x = tensor({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const HostTensor w = tensor({1, 1, 2, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(run(x, {{Convolution{&w, {1, 1}, {1, 1}, {0, 0}, {0, 0}}}}),
            (Numbers{5421, 6532, 8754, 9865}));
  // One row of padding above and one column behind, nowhere else.
  EXPECT_EQ(run(x, {{Convolution{&w, {2, 2}, {1, 1}, {1, 0}, {0, 1}}}}),
            (Numbers{2100, 300, 8754, 906}));
  EXPECT_EQ(run(x, {{Convolution{&w, {1, 1}, {2, 2}, {0, 0}, {0, 0}}}}), (Numbers{9731}));
}

TEST(ReferenceConvolution, GroupsSeeOnlyTheirChannels) {
  const HostTensor x = tensor({1, 4, 1, 1}, {1, 2, 3, 4});
  const HostTensor w = tensor({4, 2, 1, 1}, {1, 10, 2, 20, 3, 30, 4, 40});
  EXPECT_EQ(run(x, {{Convolution{&w, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2}}}),
            (Numbers{21, 42, 129, 172}));
}

TEST(ReferenceConvolution, ThreeDimensions) {
  const HostTensor x = tensor({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const HostTensor w = tensor({1, 1, 2, 1, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(run(x, {{Convolution{&w, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}}}),
            (Numbers{6521, 8743}));
}

/// The definition as seven loops over (n, k, p, q, c, r, s).
double by_definition(const HostTensor& x, const HostTensor& w, const Convolution& conv,
                     const Dims& at) {
  const std::int64_t per_group = w.dims()[0] / conv.groups;
  double sum = 0;
  for (std::int64_t c = 0; c < w.dims()[1]; ++c)
    for (std::int64_t r = 0; r < w.dims()[2]; ++r)
      for (std::int64_t s = 0; s < w.dims()[3]; ++s) {
        const std::int64_t h = at[2] * conv.stride[0] - conv.pad_lo[0] + r * conv.dilation[0];
        const std::int64_t v = at[3] * conv.stride[1] - conv.pad_lo[1] + s * conv.dilation[1];
        if (h < 0 || v < 0 || h >= x.dims()[2] || v >= x.dims()[3]) continue;
        sum += x.get({at[0], at[1] / per_group * w.dims()[1] + c, h, v}) * w.get({at[1], c, r, s});
      }
  return sum;
}

TEST(ReferenceConvolution, MatchesTheDefinitionOnRandomShapes) {
  Random random;
  for (int round = 0; round < 60; ++round) {
    const std::int64_t groups = random.between(1, 3), c = random.between(1, 4);
    const std::int64_t r = random.between(1, 4), s = random.between(1, 4);
    const Dims stride = {random.between(1, 3), random.between(1, 3)};
    const Dims dilation = {random.between(1, 2), random.between(1, 3)};
    const Dims in = {random.between(1, 2), c * groups, random.between(9, 12),
                     random.between(9, 12)};
    HostTensor x(Element::f32, in, permuted(in, random));
    const Dims filter = {groups * random.between(1, 3), c, r, s};
    HostTensor w(Element::f16, filter, padded(filter, random));
    random.fill(x);
    random.fill(w);
    const Dims lo = {random.between(0, 3), random.between(0, 3)};
    const Dims hi = {random.between(0, 3), random.between(0, 3)};
    const Convolution conv{&w, stride, dilation, lo, hi, groups};
    const ReferenceResult result = run_reference(x, std::vector<Step>{{conv}});
    Dims at(4, 0);
    for (const Bounded& element : result.values) {
      EXPECT_NEAR(element.value, by_definition(x, w, conv, at), 1e-12) << "round " << round;
      advance(at, result.dims);
    }
  }
}

TEST(ReferenceConvolution, PaddingMeetsNoInfiniteWeight) {
  const HostTensor x = tensor({1, 1, 1, 2}, {1, 2});
  const HostTensor w = tensor({1, 1, 1, 2}, {kInf, 1});
  const Numbers y = run(x, {{Convolution{&w, {1, 1}, {1, 1}, {0, 1}, {0, 0}}}});
  EXPECT_EQ(y, (Numbers{1, kInf}));
}

TEST(ReferenceConvolution, RefusesWhatDoesNotFit) {
  const HostTensor x(Element::f32, {1, 4, 3, 3}), w(Element::f32, {2, 3, 3, 3});
  const std::vector<Step> channels{{Convolution{&w, {1, 1}, {1, 1}, {0, 0}, {0, 0}}}};
  EXPECT_THROW(run_reference(x, channels), std::invalid_argument);
  const HostTensor large(Element::f32, {1, 4, 5, 3});
  const std::vector<Step> filter{{Convolution{&large, {1, 1}, {1, 1}, {0, 0}, {1, 0}}}};
  EXPECT_THROW(run_reference(x, filter), std::invalid_argument);
}

TEST(ReferenceOperators, HandComputed) {
  const HostTensor x = tensor({1, 2, 1, 2}, {1, 2, 3, 4});
  const HostTensor two = tensor({1, 2, 1, 1}, {10, 20}), ten = tensor({1, 2, 1, 1}, {1, -1});
  EXPECT_EQ(run(x, {{Bias{&two}}}), (Numbers{11, 12, 23, 24}));
  EXPECT_EQ(run(x, {{ScaleShift{&two, &ten}}}), (Numbers{11, 21, 59, 79}));
  EXPECT_EQ(run(x, {{Add{&two, 0.5}}}), (Numbers{6, 7, 13, 14}));
  const HostTensor row = tensor({1, 1, 1, 2}, {100, 200});
  EXPECT_EQ(run(x, {{Add{&row}}}), (Numbers{101, 202, 103, 204}));
  const HostTensor variance = tensor({1, 2, 1, 1}, {3, 15});
  EXPECT_EQ(run(x, {{BatchNorm{&two, &ten, &ten, &variance, 1}}}), (Numbers{1, 6, 19, 24}));
  const HostTensor full = tensor({1, 2, 1, 2}, {1, 1, 2, 2}), zero = tensor({1, 1, 1, 1}, {0});
  EXPECT_EQ(run(x, {{BatchNorm{&full, &full, &zero, &zero, 0.25}}}), (Numbers{3, 5, 14, 18}));
}

TEST(ReferenceOperators, BlendAndOrder) {
  const HostTensor x = tensor({1, 1, 1, 2}, {1, -2}), old = tensor({1, 1, 1, 2}, {10, kNan});
  const HostTensor one = tensor({1, 1, 1, 1}, {1});
  const Step bias{Bias{&one}, 3}, relu{Activation{Mode::RELU}};
  EXPECT_EQ(run(x, {bias, relu}), (Numbers{6, 0}));
  EXPECT_EQ(run(x, {relu, bias}), (Numbers{6, 3}));
  EXPECT_EQ(run(x, {relu}, &old), (Numbers{1, 0}));  // beta 0 does not read
  const Numbers blended = run(x, {bias, {Activation{Mode::RELU}, 2, 0.5}}, &old);
  EXPECT_EQ(blended[0], 17);
  EXPECT_TRUE(std::isnan(blended[1]));
  EXPECT_THROW(run(x, {relu, {Activation{Mode::RELU}, 2, 0.5}}), std::invalid_argument);
  EXPECT_THROW(run(x, {{Bias{&one}, 1, 1}, relu}, &old), std::invalid_argument);
}

struct ActivationCase {
  Mode mode;
  double a, b, g, x, expected;
};
// Values from the formulas, computed by hand or to 12 digits with bc.
const ActivationCase kActivations[] = {
    {Mode::PASTHRU, 0, 0, 0, -3.5, -3.5},
    {Mode::LOGISTIC, 0, 0, 0, 2, 0.880797077978},
    {Mode::LOGISTIC, 0, 0, 0, -kInf, 0},
    {Mode::TANH, 0.5, 2, 0, 1, 0.924234314520},
    {Mode::RELU, 0, 0, 0, -kInf, 0},
    {Mode::RELU, 0, 0, 0, 1.5, 1.5},
    {Mode::RELU, 0, 0, 0, kNan, kNan},
    {Mode::SOFTRELU, 0, 0, 0, 0, 0.693147180560},
    {Mode::SOFTRELU, 0, 0, 0, 1000, 1000},
    {Mode::SOFTRELU, 0, 0, 0, -20, 2.06115362032e-9},
    {Mode::ABS, 0, 0, 0, -2.25, 2.25},
    {Mode::POWER, 1, 2, 3, 0.5, 8},
    {Mode::POWER, 0, 1, 3, -2, -8},
    {Mode::POWER, 0, 1, 0.5, -2, kNan},
    {Mode::POWER, 0, 1, -1, 0, kInf},
    {Mode::TRUNCATEDPOWER, 1, 2, 3, 0.5, 8},
    {Mode::TRUNCATEDPOWER, 0, 1, 3, -2, 0},
    {Mode::TRUNCATEDPOWER, 0, 1, 0, 5e-7, 0},
    {Mode::TRUNCATEDPOWER, 0, 1, 2, kNan, kNan},
    {Mode::CLIPPEDRELU, 6, 0, 0, 7, 6},
    {Mode::CLIPPEDRELU, 6, 0, 0, -7, 0},
    {Mode::CLIPPEDRELU, 6, 0, 0, kNan, kNan},
    {Mode::LEAKYRELU, 0.25, 0, 0, -8, -2},
    {Mode::LEAKYRELU, 0, 0, 0, -kInf, 0},
    {Mode::LEAKYRELU, 0, 0, 0, kNan, kNan},
    {Mode::ELU, 2, 0, 0, -1, -1.26424111766},
    {Mode::ELU, 2, 0, 0, -kInf, -2},
    {Mode::ELU, 2, 0, 0, 3, 3},
    {Mode::CLAMP, -1, 2, 0, 5, 2},
    {Mode::CLAMP, -1, 2, 0, -5, -1},
    {Mode::CLAMP, -1, 2, 0, kNan, kNan},
    {Mode::GELU_ERF, 0, 0, 0, 1, 0.841344746069},
    {Mode::GELU_ERF, 0, 0, 0, -1, -0.158655253931},
    {Mode::GELU_ERF, 0, 0, 0, -kInf, 0},
    {Mode::GELU_TANH, 0, 0, 0, 1, 0.841191990608},
    {Mode::SILU, 0, 0, 0, 1, 0.731058578630},
    {Mode::SILU, 0, 0, 0, -kInf, 0},
    {Mode::MISH, 0, 0, 0, 1, 0.865098388267},
    {Mode::HARDSWISH, 0.25, 0.5, 0, 1, 0.75},
    {Mode::HARDSWISH, 0.25, 0.5, 0, -5, 0},
    {Mode::HARDSIGMOID, 0.25, 0.5, 0, 1, 0.75},
    {Mode::HARDSIGMOID, 0.25, 0.5, 0, 9, 1},
    {Mode::HARDSIGMOID, 0.25, 0.5, 0, kNan, kNan},
    {Mode::SOFTPLUS, 2, 0, 0, 1, 1.06346400552},
    {Mode::SOFTPLUS, 2, 0, 0, -kInf, 0},
};

TEST(ReferenceActivations, HandComputed) {
  for (const ActivationCase& c : kActivations) {
    const Bounded y = activate({c.mode, c.a, c.b, c.g}, {c.x});
    const auto label = ::testing::Message() << "mode " << static_cast<int>(c.mode) << " of " << c.x;
    EXPECT_TRUE(y.determined()) << label;
    if (std::isnan(c.expected)) {
      EXPECT_TRUE(std::isnan(y.value)) << label;
    } else if (std::isinf(c.expected) || c.expected == 0) {
      EXPECT_EQ(y.value, c.expected) << label;
    } else {
      EXPECT_NEAR(y.value / c.expected, 1, 1e-11) << label;
    }
  }
}

TEST(ReferenceActivations, EveryModeHasAHandComputedCase) {
  for (const Mode mode : kAllModes)
    EXPECT_TRUE(std::any_of(std::begin(kActivations), std::end(kActivations),
                            [mode](const ActivationCase& c) { return c.mode == mode; }))
        << static_cast<int>(mode);
}

TEST(Problems, EveryListReads) {
  EXPECT_EQ(read_conv_problems("miopen-docs-cba.csv").size(), 13u);
  EXPECT_EQ(read_norm_problems("miopen-docs-na.csv").size(), 8u);
  for (const char* list :
       {"resnet50.csv", "vgg16.csv", "mobilenet_v2.csv", "inception_mix.csv", "depthwise.csv",
        "ends.csv", "middles.csv", "oddities.csv", "miopen-docs-cba.csv"}) {
    for (const ConvProblem& p : read_conv_problems(list)) {
      const HostTensor w(Element::f16, {p.k, p.c / p.groups, p.r, p.s});
      const Convolution conv{&w,
                             {p.stride_h, p.stride_w},
                             {p.dil_h, p.dil_w},
                             {p.pad_h, p.pad_w},
                             {p.pad_h, p.pad_w},
                             p.groups};
      EXPECT_NO_THROW(convolution_dims({p.n, p.c, p.h, p.w}, conv)) << list << ' ' << p.name;
    }
  }
  const ConvProblem first = read_conv_problems("miopen-docs-cba.csv").front();
  EXPECT_EQ(first.name, "cba01");
  EXPECT_EQ(first.k, 512);
  EXPECT_EQ(first.published_speedup, 1.01);
  EXPECT_THROW(read_conv_problems("no-such-list.csv"), std::runtime_error);
  EXPECT_THROW(read_conv_problems("miopen-docs-na.csv"), std::runtime_error);
}

}  // namespace
}  // namespace fuseplan::test
