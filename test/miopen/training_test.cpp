// SPDX-License-Identifier: MIT
// Batch normalisation and activation, forward and backward: plans, and the discrete calls.
#include <cmath>

#include "world.hpp"

namespace fuseplan::test {
namespace {

constexpr double kEps = 1e-4, kFactor = 0.2;
constexpr miopenBatchNormMode_t kModes[] = {miopenBNSpatial, miopenBNPerActivation};
constexpr Element kTypes[] = {Element::f32, Element::f16, Element::bf16};

/// Everything a normalisation in training reads and writes.
struct Training {
  Training(Random& random, Element type, miopenBatchNormMode_t mode_, bool last)
      : mode(mode_),
        x(random_tensor(type, kDims, last ? channels_last(kDims) : channels_first(kDims), random,
                        -2, 3)),
        dy(x.like()),
        out(x.like()),
        x_desc(describe(x)),
        scale(parameter()),
        bias(scale),
        running_mean(scale),
        running_variance(scale),
        saved_mean(scale.like()),
        saved_inverse(scale.like()),
        dscale(scale.like()),
        dbias(scale.like()) {
    random.fill(dy);
    for (HostTensor* tensor : {&scale, &bias, &running_mean}) random.fill(*tensor);
    random.fill(running_variance, 0.5, 2);
  }

  ReferenceResult forward(std::vector<Step> more = {}) const {
    more.insert(more.begin(), {BatchNormTraining{&scale, &bias, kEps}});
    return run_reference(x, more);
  }
  ReferenceResult backward(std::vector<Step> first = {}) const {
    first.push_back({BatchNormBackward{&x, &scale, &bias, &saved_mean, &saved_inverse}});
    return run_reference(dy, first);
  }
  /// Saved statistics as a forward pass leaves them, for a backward one.
  void save() {
    const ReferenceResult result = forward();
    for (int i = 0; i < 2; ++i) {
      std::vector<double> values;
      for (const Bounded& value : result.statistics[static_cast<std::size_t>(i)].values)
        values.push_back(value.value);
      (i == 0 ? saved_mean : saved_inverse).set_values(values);
    }
  }
  /// (1 - f) * before + f * new
  static ReferenceResult moved(const HostTensor& before, const ReferenceResult& statistic) {
    ReferenceResult result = statistic;
    const std::vector<double> old = before.values();
    const double factor = static_cast<float>(kFactor);
    for (std::size_t i = 0; i < old.size(); ++i)
      result.values[i] = Bounded{1 - factor} * Bounded{old[i]} + Bounded{factor} * result.values[i];
    return result;
  }

  struct Running {
    ReferenceResult mean, variance;
  };
  /// The running statistics behind a forward pass that gave `result`.
  Running moved_by(const ReferenceResult& result) const {
    return {moved(running_mean, result.statistics[0]),
            moved(running_variance, result.statistics[3])};
  }

  static const inline Dims kDims{3, 5, 4, 6};
  miopenBatchNormMode_t mode;
  HostTensor x, dy, out;
  TensorDesc x_desc, desc;
  HostTensor scale, bias, running_mean, running_variance, saved_mean, saved_inverse, dscale, dbias;

 private:
  HostTensor parameter() {
    int lens[4], strides[4];
    EXPECT_TRUE(ok(miopenDeriveBNTensorDescriptor(desc, x_desc, mode)));
    EXPECT_TRUE(ok(miopenGetTensorDescriptor(desc, nullptr, lens, strides)));
    return {Element::f32, Dims(lens, lens + 4), Dims(strides, strides + 4)};
  }
};

template <typename Body>
void for_each_form(const Body& body) {
  Random random;
  for (const Element type : kTypes)
    for (const auto mode : kModes)
      for (const bool last : {false, true}) {
        Training t(random, type, mode, last);
        body(t);
      }
}

TEST(Training, ForwardPlanWithActivation) {
  Handle handle;
  for_each_form([&](Training& t) {
    FusionPlan plan(t.x);
    OpArgs args;
    miopenFusionOpDescriptor_t norm;
    const ReferenceResult expected = t.forward({{Activation{Mode::TANH, 0.7, 1.3}}});
    const auto running = t.moved_by(expected);
    ASSERT_TRUE(ok(miopenCreateOpBatchNormForward(plan, &norm, t.mode, true)));
    const auto act = plan.act(miopenActivationTANH);
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, plan)));
    ASSERT_TRUE(ok(miopenSetOpArgsBatchNormForward(
        args, norm, nullptr, nullptr, t.scale.data(), t.bias.data(), t.saved_mean.data(),
        t.saved_inverse.data(), t.running_mean.data(), t.running_variance.data(), kFactor, kEps)));
    ASSERT_TRUE(ok(miopenSetOpArgsActivForward(args, act, nullptr, nullptr, 0.7, 1.3, 0)));
    ASSERT_TRUE(ok(
        miopenExecuteFusionPlan(handle, plan, t.x_desc, t.x.data(), t.x_desc, t.out.data(), args)));
    EXPECT_TRUE(is_close(t.out, expected));
    EXPECT_TRUE(is_close(t.saved_mean, expected.statistics[0]));
    EXPECT_TRUE(is_close(t.saved_inverse, expected.statistics[1]));
    EXPECT_TRUE(is_close(t.running_mean, running.mean));
    EXPECT_TRUE(is_close(t.running_variance, running.variance));
  });
}

TEST(Training, RunningStatisticsAreThoseAskedFor) {
  Random random;
  Handle handle;
  Training t(random, Element::f32, miopenBNSpatial, false);
  FusionPlan with(t.x), without(t.x);
  OpArgs args;
  miopenFusionOpDescriptor_t norm;
  const auto set = [&](void* running) {
    return miopenSetOpArgsBatchNormForward(args, norm, nullptr, nullptr, t.scale.data(),
                                           t.bias.data(), nullptr, nullptr, running,
                                           t.running_variance.data(), kFactor, kEps);
  };
  ASSERT_TRUE(ok(miopenCreateOpBatchNormForward(with, &norm, t.mode, true)));
  EXPECT_TRUE(refused(set(nullptr), miopenStatusBadParm, "runningMean"));
  ASSERT_TRUE(ok(miopenCreateOpBatchNormForward(without, &norm, t.mode, false)));
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, without)));
  ASSERT_TRUE(ok(set(t.running_mean.data())));  // not written: created without
  const HostTensor mean = t.running_mean, variance = t.running_variance;
  ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, without, t.x_desc, t.x.data(), t.x_desc,
                                         t.out.data(), args)));
  EXPECT_TRUE(is_close(t.out, t.forward()));
  EXPECT_EQ(t.running_mean.values(), mean.values());
  EXPECT_EQ(t.running_variance.values(), variance.values());
}

// MIOpen names the normalisation first, though the gradient passes the activation first.
TEST(Training, BackwardPlanWithActivation) {
  Handle handle;
  for_each_form([&](Training& t) {
    t.save();
    FusionPlan plan(t.dy);
    OpArgs args;
    miopenFusionOpDescriptor_t norm, act;
    ASSERT_TRUE(ok(miopenCreateOpBatchNormBackward(plan, &norm, t.mode)));
    ASSERT_TRUE(ok(miopenCreateOpActivationBackward(plan, &act, miopenActivationLOGISTIC)));
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, plan)));
    ASSERT_TRUE(ok(miopenSetOpArgsBatchNormBackward(
        args, norm, nullptr, nullptr, t.x.data(), t.scale.data(), t.bias.data(), t.dscale.data(),
        t.dbias.data(), t.saved_mean.data(), t.saved_inverse.data())));
    ASSERT_TRUE(
        ok(miopenSetOpArgsActivBackward(args, act, nullptr, nullptr, nullptr, nullptr, 0, 0, 0)));
    ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, plan, t.x_desc, t.dy.data(), t.x_desc,
                                           t.out.data(), args)));
    const ReferenceResult expected = t.backward({{ActivationBackward{{Mode::LOGISTIC}}}});
    EXPECT_TRUE(is_close(t.out, expected));
    EXPECT_TRUE(is_close(t.dscale, expected.statistics[0]));
    EXPECT_TRUE(is_close(t.dbias, expected.statistics[1]));
  });
}

TEST(Training, BackwardPlansThatMeanSomethingElse) {
  Random random;
  Handle handle;
  Training t(random, Element::f32, miopenBNSpatial, false);
  miopenFusionOpDescriptor_t op;
  const auto refuses = [&](std::vector<int> ops, miopenActivationMode_t mode) {
    FusionPlan plan(t.dy);
    for (const int kind : ops)
      EXPECT_TRUE(ok(kind == 0   ? miopenCreateOpBatchNormBackward(plan, &op, t.mode)
                     : kind == 1 ? miopenCreateOpActivationBackward(plan, &op, mode)
                     : kind == 2 ? miopenCreateOpActivationForward(plan, &op, mode)
                                 : miopenCreateOpBatchNormForward(plan, &op, t.mode, false)));
    return refused(miopenCompileFusionPlan(handle, plan), miopenStatusUnsupportedOp);
  };
  EXPECT_TRUE(refuses({1, 0}, miopenActivationRELU));  // the order of the gradient, not MIOpen's
  EXPECT_TRUE(refuses({1}, miopenActivationRELU));     // has no x
  EXPECT_TRUE(refuses({0, 1, 1}, miopenActivationRELU));
  EXPECT_TRUE(refuses({0, 2}, miopenActivationRELU));
  EXPECT_TRUE(refuses({2, 3}, miopenActivationRELU));
  EXPECT_TRUE(refuses({0, 1}, miopenActivationPOWER));  // leaves out dy in MIOpen
}

/// The discrete call, with the statistics that are not null.
miopenStatus_t train(miopenHandle_t handle, Training& t, HostTensor* running_mean,
                     HostTensor* running_variance, HostTensor* mean, HostTensor* inverse) {
  const auto data = [](HostTensor* of) { return of == nullptr ? nullptr : of->data(); };
  return miopenBatchNormalizationForwardTraining(
      handle, t.mode, nullptr, nullptr, t.x_desc, t.x.data(), t.x_desc, t.out.data(), t.desc,
      t.scale.data(), t.bias.data(), kFactor, data(running_mean), data(running_variance), kEps,
      data(mean), data(inverse));
}

TEST(Training, DiscreteForward) {
  Handle handle;
  for_each_form([&](Training& t) {
    const ReferenceResult expected = t.forward();
    const auto running = t.moved_by(expected);
    ASSERT_TRUE(ok(
        train(handle, t, &t.running_mean, &t.running_variance, &t.saved_mean, &t.saved_inverse)));
    EXPECT_TRUE(is_close(t.out, expected));
    EXPECT_TRUE(is_close(t.running_mean, running.mean));
    EXPECT_TRUE(is_close(t.running_variance, running.variance));
    EXPECT_TRUE(is_close(t.saved_mean, expected.statistics[0]));
    EXPECT_TRUE(is_close(t.saved_inverse, expected.statistics[1]));
    // Nothing kept, and inference without estimates: the batch's own statistics.
    for (const bool training : {true, false}) {
      t.out = t.out.like();
      ASSERT_TRUE(ok(training ? train(handle, t, nullptr, nullptr, nullptr, nullptr)
                              : miopenBatchNormalizationForwardInference(
                                    handle, t.mode, nullptr, nullptr, t.x_desc, t.x.data(),
                                    t.x_desc, t.out.data(), t.desc, t.scale.data(), t.bias.data(),
                                    nullptr, nullptr, kEps)));
      EXPECT_TRUE(is_close(t.out, expected));
    }
  });
}

TEST(Training, DiscreteForwardKeepsOneStatisticWithoutTheOther) {
  Handle handle;
  for_each_form([&](Training& t) {
    const ReferenceResult expected = t.forward();
    const auto running = t.moved_by(expected);
    ASSERT_TRUE(ok(train(handle, t, &t.running_mean, nullptr, &t.saved_mean, nullptr)));
    ASSERT_TRUE(ok(train(handle, t, nullptr, &t.running_variance, nullptr, &t.saved_inverse)));
    EXPECT_TRUE(is_close(t.running_mean, running.mean));
    EXPECT_TRUE(is_close(t.running_variance, running.variance));
    EXPECT_TRUE(is_close(t.saved_mean, expected.statistics[0]));
    EXPECT_TRUE(is_close(t.saved_inverse, expected.statistics[1]));
  });
}

TEST(Training, DiscreteBackward) {
  Handle handle;
  for_each_form([&](Training& t) {
    t.save();
    const ReferenceResult expected = t.backward();
    for (const bool saved : {true, false}) {
      t.out = t.out.like();
      ASSERT_TRUE(ok(miopenBatchNormalizationBackward(
          handle, t.mode, nullptr, nullptr, nullptr, nullptr, t.x_desc, t.x.data(), t.x_desc,
          t.dy.data(), t.x_desc, t.out.data(), t.desc, t.scale.data(), t.dscale.data(),
          t.dbias.data(), kEps, saved ? t.saved_mean.data() : nullptr,
          saved ? t.saved_inverse.data() : nullptr)));
      EXPECT_TRUE(is_close(t.out, expected));
      EXPECT_TRUE(is_close(t.dscale, expected.statistics[0]));
      EXPECT_TRUE(is_close(t.dbias, expected.statistics[1]));
    }
    const float half = 0.5f;
    EXPECT_EQ(miopenBatchNormalizationBackward(
                  handle, t.mode, nullptr, nullptr, &half, nullptr, t.x_desc, t.x.data(), t.x_desc,
                  t.dy.data(), t.x_desc, t.out.data(), t.desc, t.scale.data(), t.dscale.data(),
                  t.dbias.data(), kEps, nullptr, nullptr),
              miopenStatusBadParm);
  });
}

/// dx of one activation as the discrete call computes it.
::testing::AssertionResult backward_of(miopenHandle_t handle, Element type, Mode mode, double a,
                                       double b, double g, const HostTensor& x,
                                       const HostTensor& dy) {
  HostTensor y(type, x.dims()), dx = x.like();
  const TensorDesc desc = describe(x), y_desc = describe(y);
  EXPECT_TRUE(ok(miopenActivationBackward(
      handle, activation(static_cast<miopenActivationMode_t>(mode), a, b, g), nullptr, y_desc,
      y.data(), desc, dy.data(), desc, x.data(), nullptr, desc, dx.data())));
  std::vector<Step> steps{{ActivationBackward{{mode, a, b, g}, &x}}};
  if (mode == Mode::ABS) {  // -dy at 0, where the derivative is 0
    steps = {{ActivationBackward{{Mode::LEAKYRELU, -1}, &x}}};
  } else if (mode == Mode::POWER) {  // b g v^(g - 1): no dy
    return is_close(
        dx, run_reference(
                x, std::vector<Step>{{Activation{Mode::TRUNCATEDPOWER, a, b, g - 1}, b * g}}));
  }
  return is_close(dx, run_reference(dy, steps));
}

TEST(Training, DiscreteActivationBackward) {
  Random random;
  Handle handle;
  constexpr struct {
    Mode mode;
    double a, b, g;
  } kCases[] = {
      {Mode::PASTHRU, 0, 0, 0},     {Mode::LOGISTIC, 0, 0, 0},       {Mode::TANH, 0.7, 1.3, 0},
      {Mode::RELU, 0, 0, 0},        {Mode::SOFTRELU, 0, 0, 0},       {Mode::ABS, 0, 0, 0},
      {Mode::POWER, 0.5, 1.5, 2.5}, {Mode::CLIPPEDRELU, 0.75, 0, 0}, {Mode::LEAKYRELU, 0.25, 0, 0},
      {Mode::ELU, 1.1, 0, 0},       {Mode::CLAMP, -0.5, 0.75, 0}};
  for (const Element type : kTypes)
    for (const auto& [mode, a, b, g] : kCases) {
      HostTensor x = random_tensor(type, {2, 3, 4, 5}, random, -2, 2);
      const HostTensor dy = random_tensor(type, {2, 3, 4, 5}, random);
      x.set({1, 1, 1, 1}, 0);  // where ABS and its kin have a corner
      EXPECT_TRUE(backward_of(handle, type, mode, a, b, g, x, dy))
          << "mode " << static_cast<int>(mode) << ", " << name_of(type);
    }
}

}  // namespace
}  // namespace fuseplan::test
