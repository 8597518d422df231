// SPDX-License-Identifier: MIT
// The oracle's gradients against finite differences of the oracle's forward, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"

namespace fuseplan::test {
namespace {

/// f'(0) by the central difference of fourth order, whose error is h^4 / 30 f^(5).
template <typename F>
double slope(const F& f, double h) {
  return (f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h);
}

Activation usual(Mode mode) {
  switch (mode) {
    case Mode::POWER:
      return {mode, 4.5, 0.25, 1.5};
    case Mode::TRUNCATEDPOWER:
      return {mode, -0.625, 1, 2};
    case Mode::CLAMP:
      return {mode, -0.375, 0.625, 0};
    case Mode::HARDSWISH:
    case Mode::HARDSIGMOID:
      return {mode, 0.25, 0.5, 0};
    default:
      return {mode, 0.75, 1.25, 1};
  }
}

class Gradients : public testing::TestWithParam<Mode> {};

TEST_P(Gradients, OfTheActivation) {
  const Activation activation = usual(GetParam());
  constexpr double h = 0x1p-8;
  for (int i = -401; i <= 401; i += 2) {  // no kink of `usual` is nearer than 2 h
    const double x = i * 0x1p-6;
    const double expected =
        slope([&](double dx) { return activate(activation, {x + dx}).value; }, h);
    EXPECT_NEAR(derivative(activation, {x}).value, expected, 1e-7 * (1 + std::fabs(expected)))
        << "at " << x;
  }
}

/// sum(w y) over a forward pass of batch normalisation and the activation.
double loss(const HostTensor& x, const BatchNormTraining& norm, const Activation& activation,
            const std::vector<double>& w) {
  const std::vector<Step> steps{{norm}, {activation}};
  const ReferenceResult y = run_reference(x, steps);
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * y.values[i].value;
  return sum;
}

/// Moves one element, to values that f32 holds exactly.
double slope_of_loss(HostTensor& tensor, const Dims& at, const std::function<double()>& loss) {
  const double before = tensor.get(at);
  const double result = slope(
      [&](double step) {
        tensor.set(at, before + step);
        return loss();
      },
      0x1p-9);
  tensor.set(at, before);
  return result;
}

/// A multiple of 2^-12, so that steps of 2^-9 are exact.
void fill_coarsely(HostTensor& tensor, Random& random, double low, double high) {
  Dims index(tensor.dims().size(), 0);
  do {
    tensor.set(index, std::round(random.uniform(low, high) * 4096) / 4096);
  } while (advance(index, tensor.dims()));
}

/// Where the derivatives of usual() have steps.
bool is_near_kink(double x) {
  for (double kink : {-2.0, -0.375, 0.0, 0.625, 0.75, 2.0})
    if (std::fabs(x - kink) < 0x1p-6) return true;
  return false;
}

/// A layer of batch normalisation and an activation, with data on which the loss is smooth.
struct SmoothLayer {
  SmoothLayer(Mode mode, const Dims& params)
      : activation(usual(mode)), scale(Element::f32, params), bias(Element::f32, params) {
    Random random(static_cast<std::uint64_t>(mode));
    fill_coarsely(dy, random, -1, 1);
    fill_coarsely(scale, random, 0.5, 1.5);
    fill_coarsely(bias, random, -0.25, 0.25);
    do {
      fill_coarsely(x, random, -2, 2);
      forward = run_reference(x, std::vector<Step>{{norm}});
    } while (std::ranges::any_of(forward.values,
                                 [](const Bounded& y) { return is_near_kink(y.value); }));
  }
  HostTensor statistic(std::size_t number) const {
    std::vector<double> values;
    for (const Bounded& value : forward.statistics[number].values) values.push_back(value.value);
    HostTensor tensor = scale.like();
    tensor.set_values(values);
    return tensor;
  }

  Dims dims{3, 2, 2, 3};
  Activation activation;
  HostTensor x{Element::f32, dims}, dy{Element::f32, dims}, scale, bias;
  BatchNormTraining norm{&scale, &bias, 0.125};
  ReferenceResult forward;
};

void check_gradients(Mode mode, const Dims& params) {
  // Saved statistics are rounded to f32, which moves gradients of a few units by less than this.
  constexpr double kTolerance = 4e-6;
  SmoothLayer layer(mode, params);
  const HostTensor mean = layer.statistic(0), inverse = layer.statistic(1);
  const std::vector<Step> steps{
      {ActivationBackward{layer.activation, nullptr}},
      {BatchNormBackward{&layer.x, &layer.scale, &layer.bias, &mean, &inverse}}};
  const ReferenceResult backward = run_reference(layer.dy, steps);
  const std::vector<double> w = layer.dy.values();
  const auto total = [&] { return loss(layer.x, layer.norm, layer.activation, w); };
  const auto check = [&](HostTensor& tensor, const std::vector<Bounded>& gradient) {
    Dims index(tensor.dims().size(), 0);
    for (const Bounded& value : gradient) {
      EXPECT_NEAR(value.value, slope_of_loss(tensor, index, total), kTolerance);
      advance(index, tensor.dims());
    }
  };
  check(layer.x, backward.values);
  check(layer.scale, backward.statistics[0].values);
  check(layer.bias, backward.statistics[1].values);
}

TEST_P(Gradients, ThroughBatchNormSpatial) { check_gradients(GetParam(), {1, 2, 1, 1}); }
TEST_P(Gradients, ThroughBatchNormPerActivation) { check_gradients(GetParam(), {1, 2, 2, 3}); }

TEST(Moments, OfEqualValuesAllowForNoVariance) {
  HostTensor x(Element::f32, {3, 4, 5, 7}), one(Element::f32, {1, 4, 1, 1});
  Dims at(4, 0);
  do x.set(at, 0.1 + 0.3 * static_cast<double>(at[1] * at[1] * 100));
  while (advance(at, x.dims()));
  const ReferenceResult result =
      run_reference(x, std::vector<Step>{{BatchNormTraining{&one, &one, 1e-5}}});
  for (const Bounded& variance : result.statistics[2].values) {
    EXPECT_TRUE(acceptable(Element::f32, variance).contains(0)) << variance.value;
    EXPECT_FALSE(acceptable(Element::f32, variance).contains(1e-20));
  }
}

TEST(Reference, TakesParametersOfRankOne) {
  Random random(3);
  HostTensor x(Element::f32, {2, 5, 3, 4}), dy = x.like();
  HostTensor flat(Element::f32, {5}), full(Element::f32, {1, 5, 1, 1});
  for (HostTensor* tensor : {&x, &dy, &flat}) random.fill(*tensor, 0.5, 1.5);
  full.set_values(flat.values());
  const auto steps = [&](const HostTensor& p, int which) {
    return which == 0   ? std::vector<Step>{{Bias{&p}}, {BatchNorm{&p, &p, &p, &p, 1e-5}}}
           : which == 1 ? std::vector<Step>{{BatchNormTraining{&p, &p, 1e-5}}, {ScaleShift{&p, &p}}}
                        : std::vector<Step>{{BatchNormBackward{&dy, &p, &p, &p, &p}}};
  };
  const auto same = [](const ReferenceResult& a, const ReferenceResult& b) {
    return std::ranges::equal(a.values, b.values, [](const Bounded& p, const Bounded& q) {
      return p.value == q.value && p.error == q.error;
    });
  };
  for (int which = 0; which < 3; ++which) {
    const ReferenceResult a = run_reference(x, steps(flat, which)),
                          b = run_reference(x, steps(full, which));
    EXPECT_TRUE(same(a, b)) << which;
    ASSERT_EQ(a.statistics.size(), b.statistics.size());
    for (std::size_t i = 0; i < a.statistics.size(); ++i) {
      EXPECT_TRUE(same(a.statistics[i], b.statistics[i])) << which;
      EXPECT_EQ(a.statistics[i].dims, flat.dims());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::ValuesIn(kAllModes),
                         [](const testing::TestParamInfo<Mode>& info) {
                           return "mode" + std::to_string(static_cast<int>(info.param));
                         });

}  // namespace
}  // namespace fuseplan::test
