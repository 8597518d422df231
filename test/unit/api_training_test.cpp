// SPDX-License-Identifier: MIT
// One training step of batch normalisation and RELU through the C functions, against the formulas
// of plan.h; and what its functions refuse. The matrix tests check every form.
#include <cmath>

#include "api_world.hpp"

namespace fuseplan::test {
namespace {

constexpr int kImages = 3, kChannels = 2, kPixels = 6, kValues = kImages * kPixels;
constexpr double kEpsilon = 1e-3, kFactor = 0.25;

using Channels = std::vector<float>;

struct Layer {
  HandlePtr handle = make_handle();
  TensorPtr desc = make_tensor({kImages, kChannels, 2, 3});
  std::vector<float> x, dy, y, dx;
  Channels scale{1.5F, -0.75F}, bias{0.25F, 0.5F};
  Channels mean{0, 0}, inverse{0, 0}, running_mean{1, -1}, running_variance{2, 0.5F};
  Channels dscale{0, 0}, dbias{0, 0};

  Layer() : y(kValues * kChannels), dx(kValues * kChannels) {
    for (int i = 0; i < kValues * kChannels; ++i) {
      x.push_back(static_cast<float>(std::sin(1.7 * i) * 3 + 1));
      dy.push_back(static_cast<float>(std::cos(2.3 * i)));
    }
  }

  template <typename F>
  static void for_values(int channel, const F& value) {
    for (int n = 0; n < kImages; ++n)
      for (int p = 0; p < kPixels; ++p)
        value(static_cast<std::size_t>((n * kChannels + channel) * kPixels + p));
  }

  PlanPtr forward_plan(fuseplanOp_t* norm, fuseplanOp_t* relu, bool running = true) {
    PlanPtr plan;
    EXPECT_TRUE(ok(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, desc)));
    EXPECT_TRUE(
        ok(fuseplanCreateOpBatchNormForward(plan, norm, fuseplanBNSpatial, running, nullptr)));
    EXPECT_TRUE(ok(fuseplanCreateOpActivationForward(plan, relu, fuseplanActivationRELU)));
    return plan;
  }

  PlanPtr backward_plan(fuseplanOp_t* relu, fuseplanOp_t* norm) {
    PlanPtr plan;
    EXPECT_TRUE(ok(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, desc)));
    EXPECT_TRUE(
        ok(fuseplanCreateOpActivationBackward(plan, relu, fuseplanActivationRELU, nullptr)));
    EXPECT_TRUE(
        ok(fuseplanCreateOpBatchNormBackward(plan, norm, fuseplanBNSpatial, nullptr, nullptr)));
    return plan;
  }

  void run(fuseplanPlan_t plan, const std::vector<float>& input, std::vector<float>& output,
           fuseplanOperatorArgs_t args) {
    ASSERT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
    ASSERT_TRUE(
        ok(fuseplanExecutePlan(handle, plan, desc, input.data(), desc, output.data(), args)));
  }

  void run_forward() {
    fuseplanOp_t norm, relu;
    const PlanPtr plan = forward_plan(&norm, &relu);
    ArgsPtr args;
    ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
    ASSERT_TRUE(ok(fuseplanSetOpArgsBatchNormForward(
        args, norm, nullptr, nullptr, scale.data(), bias.data(), mean.data(), inverse.data(),
        running_mean.data(), running_variance.data(), kFactor, kEpsilon)));
    ASSERT_TRUE(ok(fuseplanSetOpArgsActivForward(args, relu, nullptr, nullptr, 0, 0, 0)));
    run(plan, x, y, args);
  }
};

TEST(Training, ForwardNormalisesAndKeepsStatistics) {
  Layer layer;
  const Channels old_mean = layer.running_mean, old_variance = layer.running_variance;
  layer.run_forward();
  for (int c = 0; c < kChannels; ++c) {
    const auto k = static_cast<std::size_t>(c);
    double mean = 0, squares = 0;
    Layer::for_values(c, [&](std::size_t i) { mean += layer.x[i] / double{kValues}; });
    Layer::for_values(c,
                      [&](std::size_t i) { squares += (layer.x[i] - mean) * (layer.x[i] - mean); });
    const double inverse = 1 / std::sqrt(squares / kValues + kEpsilon);
    EXPECT_NEAR(layer.mean[k], mean, 1e-6);
    EXPECT_NEAR(layer.inverse[k], inverse, 1e-6);
    EXPECT_NEAR(layer.running_mean[k], 0.75 * old_mean[k] + 0.25 * mean, 1e-6);
    EXPECT_NEAR(layer.running_variance[k], 0.75 * old_variance[k] + 0.25 * squares / (kValues - 1),
                1e-5);
    Layer::for_values(c, [&](std::size_t i) {
      const double normal = layer.scale[k] * (layer.x[i] - mean) * inverse + layer.bias[k];
      EXPECT_NEAR(layer.y[i], std::fmax(normal, 0), 1e-5);
    });
  }
}

TEST(Training, BackwardGivesTheGradients) {
  Layer layer;
  layer.run_forward();
  fuseplanOp_t relu, norm;
  const PlanPtr plan = layer.backward_plan(&relu, &norm);
  ArgsPtr args;
  ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  ASSERT_TRUE(
      ok(fuseplanSetOpArgsActivBackward(args, relu, nullptr, nullptr, nullptr, nullptr, 0, 0, 0)));
  ASSERT_TRUE(ok(fuseplanSetOpArgsBatchNormBackward(
      args, norm, nullptr, nullptr, layer.x.data(), layer.scale.data(), layer.bias.data(),
      layer.dscale.data(), layer.dbias.data(), layer.mean.data(), layer.inverse.data())));
  layer.run(plan, layer.dy, layer.dx, args);
  for (int c = 0; c < kChannels; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const auto xhat = [&](std::size_t i) {
      return (double{layer.x[i]} - layer.mean[k]) * layer.inverse[k];
    };
    const auto d = [&](std::size_t i) {
      return layer.scale[k] * xhat(i) + layer.bias[k] > 0 ? double{layer.dy[i]} : 0.0;
    };
    double dbias = 0, dscale = 0;
    Layer::for_values(c, [&](std::size_t i) {
      dbias += d(i);
      dscale += d(i) * xhat(i);
    });
    EXPECT_NEAR(layer.dbias[k], dbias, 1e-5);
    EXPECT_NEAR(layer.dscale[k], dscale, 1e-5);
    Layer::for_values(c, [&](std::size_t i) {
      const double dx =
          layer.scale[k] * layer.inverse[k] * (d(i) - dbias / kValues - xhat(i) * dscale / kValues);
      EXPECT_NEAR(layer.dx[i], dx, 1e-5);
    });
  }
}

TEST(Training, ResultsMayBeLeftOut) {
  Layer layer;
  fuseplanOp_t norm, relu;
  const PlanPtr plan = layer.forward_plan(&norm, &relu, false);
  ArgsPtr args;
  ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  ASSERT_TRUE(ok(fuseplanSetOpArgsBatchNormForward(args, norm, nullptr, nullptr, layer.scale.data(),
                                                   layer.bias.data(), nullptr, nullptr, nullptr,
                                                   nullptr, kFactor, kEpsilon)));
  ASSERT_TRUE(ok(fuseplanSetOpArgsActivForward(args, relu, nullptr, nullptr, 0, 0, 0)));
  std::vector<float> alone = layer.y;
  layer.run(plan, layer.x, alone, args);
  layer.run_forward();
  EXPECT_EQ(alone, layer.y);
}

TEST(Training, PlacesThatTheOpsCannotTake) {
  const auto add_forward = [](fuseplanPlan_t plan) {
    fuseplanOp_t op;
    return fuseplanCreateOpBatchNormForward(plan, &op, fuseplanBNSpatial, false, nullptr);
  };
  const PlanPtr behind_conv = make_plan("f32:1x2x4x4;conv(f32:3x2x1x1)");
  EXPECT_TRUE(refused(add_forward(behind_conv), fuseplanStatusUnsupportedOp,
                      "end the convolution's plan with statistics"));
  const PlanPtr second = make_plan("f32:1x2x4x4;activation(relu)");
  EXPECT_TRUE(refused(add_forward(second), fuseplanStatusUnsupportedOp, "first op"));
  const PlanPtr twice = make_plan("f32:1x2x4x4;norm_training(spatial,f32:1x2x1x1)");
  EXPECT_TRUE(refused(add_forward(twice), fuseplanStatusUnsupportedOp, "already"));
  const PlanPtr ended = make_plan("f32:1x2x4x4;norm_backward(spatial,f32:1x2x1x1,f32:1x2x4x4)");
  fuseplanOp_t op;
  EXPECT_TRUE(refused(fuseplanCreateOpActivationForward(ended, &op, fuseplanActivationRELU),
                      fuseplanStatusUnsupportedOp, "last op"));
  EXPECT_TRUE(refused(
      fuseplanCreateOpBatchNormBackward(behind_conv, &op, fuseplanBNSpatial, nullptr, nullptr),
      fuseplanStatusUnsupportedOp, "convolution"));
}

TEST(Training, StatisticsEndAPlan) {
  const PlanPtr plan = make_plan("f32:1x2x4x4;conv(f32:3x2x1x1);statistics(f32:1x3x1x1)");
  fuseplanOp_t op;
  EXPECT_TRUE(refused(fuseplanCreateOpActivationForward(plan, &op, fuseplanActivationRELU),
                      fuseplanStatusUnsupportedOp, "behind statistics"));
  const PlanPtr other = make_plan("f32:1x2x4x4;conv(f32:3x2x1x1)");
  const TensorPtr wrong = make_tensor({1, 2, 1, 1});
  EXPECT_TRUE(
      refused(fuseplanCreateOpStatistics(other, &op, wrong), fuseplanStatusBadParm, "1x2x1x1"));
  const PlanPtr normalised = make_plan("f32:1x2x4x4;norm_training(spatial,f32:1x2x1x1)");
  EXPECT_TRUE(refused(fuseplanCreateOpStatistics(normalised, &op, nullptr),
                      fuseplanStatusUnsupportedOp, "already"));
}

std::string text_of_norm(const TensorPtr& x, fuseplanBatchNormMode_t mode,
                         fuseplanTensorDescriptor_t parameters) {
  PlanPtr plan;
  fuseplanOp_t op;
  EXPECT_TRUE(ok(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, x)));
  EXPECT_TRUE(ok(fuseplanCreateOpBatchNormForward(plan, &op, mode, false, parameters)));
  return text_of([&](char* to, std::size_t* size) { return fuseplanPlanToString(plan, to, size); });
}

TEST(Training, WithoutADescriptorItIsTheDerivedOne) {
  const std::vector<int> lengths[] = {{4, 3}, {4, 3, 5}, {2, 3, 5, 7}, {2, 3, 4, 5, 7}};
  for (const std::vector<int>& lens : lengths)
    for (const auto mode : {fuseplanBNSpatial, fuseplanBNPerActivation}) {
      const TensorPtr x = make_tensor(lens), derived = make_tensor({1});
      ASSERT_TRUE(ok(fuseplanDeriveBNTensorDescriptor(derived, x, mode)));
      EXPECT_EQ(text_of_norm(x, mode, nullptr), text_of_norm(x, mode, derived));
    }
}

TEST(Training, BadDescriptors) {
  const PlanPtr plan = make_plan("f32:1x2x4x4;activation(relu)");
  PlanPtr empty;
  const TensorPtr input = make_tensor({1, 2, 4, 4});
  ASSERT_TRUE(ok(fuseplanCreatePlan(&empty, fuseplanVerticalFusion, input)));
  const TensorPtr half = make_tensor({1, 2, 1, 1}, fuseplanHalf), wrong = make_tensor({1, 3, 1, 1});
  fuseplanOp_t op;
  EXPECT_TRUE(refused(fuseplanCreateOpBatchNormForward(empty, &op, fuseplanBNSpatial, false, half),
                      fuseplanStatusBadParm, "expected f32"));
  EXPECT_TRUE(refused(fuseplanCreateOpBatchNormForward(empty, &op, fuseplanBNSpatial, false, wrong),
                      fuseplanStatusBadParm, "1x3x1x1"));
  EXPECT_TRUE(refused(fuseplanCreateOpBatchNormForward(
                          empty, &op, static_cast<fuseplanBatchNormMode_t>(2), false, nullptr),
                      fuseplanStatusBadParm, "bn_mode"));
  EXPECT_TRUE(refused(
      fuseplanCreateOpBatchNormInference(plan, &op, static_cast<fuseplanBatchNormMode_t>(2), wrong),
      fuseplanStatusBadParm, "bn_mode is 2"));
  EXPECT_TRUE(
      refused(fuseplanCreateOpBatchNormForward(empty, nullptr, fuseplanBNSpatial, false, nullptr),
              fuseplanStatusBadParm, "bnFwdOp"));
  EXPECT_TRUE(
      refused(fuseplanCreateOpBatchNormBackward(plan, &op, fuseplanBNSpatial, wrong, nullptr),
              fuseplanStatusBadParm, "x is 1x3x1x1"));
  EXPECT_TRUE(refused(fuseplanCreateOpActivationBackward(plan, &op, fuseplanActivationRELU, wrong),
                      fuseplanStatusBadParm, "x is 1x3x1x1"));
  EXPECT_TRUE(refused(fuseplanCreateOpActivationBackward(
                          plan, &op, static_cast<fuseplanActivationMode_t>(11), nullptr),
                      fuseplanStatusBadParm, "mode"));
}

TEST(Training, BadArguments) {
  Layer layer;
  fuseplanOp_t norm, relu;
  const PlanPtr plan = layer.forward_plan(&norm, &relu);
  ArgsPtr args;
  ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  float* const c = layer.scale.data();
  const auto set = [&](fuseplanOp_t op, const void* scale, void* mean, void* variance,
                       double factor, double epsilon) {
    return fuseplanSetOpArgsBatchNormForward(args, op, nullptr, nullptr, scale, c, nullptr, nullptr,
                                             mean, variance, factor, epsilon);
  };
  EXPECT_TRUE(refused(set(relu, c, c, c, 1, 0), fuseplanStatusBadParm, "activation"));
  EXPECT_TRUE(refused(set(norm, nullptr, c, c, 1, 0), fuseplanStatusBadParm, "bnScale"));
  EXPECT_TRUE(refused(set(norm, c, nullptr, nullptr, 1, 0), fuseplanStatusBadParm, "running"));
  EXPECT_TRUE(refused(set(norm, c, c, nullptr, 1, 0), fuseplanStatusBadParm, "both or none"));
  EXPECT_TRUE(refused(set(norm, c, c, c, 1, -1), fuseplanStatusInvalidValue, "epsilon"));
  EXPECT_TRUE(
      refused(set(norm, c, c, c, std::nan(""), 0), fuseplanStatusInvalidValue, "expAvgFactor"));

  // Arguments of an op that needed no running statistics, executed with one that does.
  fuseplanOp_t other_norm, other_relu;
  const PlanPtr other = layer.forward_plan(&other_norm, &other_relu, false);
  ASSERT_TRUE(ok(set(other_norm, c, nullptr, nullptr, 1, 0)));
  ASSERT_TRUE(ok(fuseplanSetOpArgsActivForward(args, relu, nullptr, nullptr, 0, 0, 0)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(layer.handle, plan)));
  EXPECT_TRUE(refused(fuseplanExecutePlan(layer.handle, plan, layer.desc, layer.x.data(),
                                          layer.desc, layer.y.data(), args),
                      fuseplanStatusBadParm, "runningMean"));
}

TEST(Training, BackwardArgumentsThatMayBeNull) {
  Layer layer;
  float* const c = layer.scale.data();
  fuseplanOp_t relu, norm;
  const PlanPtr plan = layer.backward_plan(&relu, &norm);
  ArgsPtr args;
  ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  const auto set = [&](const void* x, const void* bias, const void* mean) {
    return fuseplanSetOpArgsBatchNormBackward(args, norm, nullptr, nullptr, x, c, bias, nullptr,
                                              nullptr, mean, c);
  };
  EXPECT_TRUE(refused(set(nullptr, c, c), fuseplanStatusBadParm, "x"));
  EXPECT_TRUE(refused(set(layer.x.data(), c, nullptr), fuseplanStatusBadParm, "savedMean"));
  // The activation's derivative needs the bias.
  ASSERT_TRUE(ok(set(layer.x.data(), nullptr, c)));
  ASSERT_TRUE(
      ok(fuseplanSetOpArgsActivBackward(args, relu, nullptr, nullptr, nullptr, nullptr, 0, 0, 0)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(layer.handle, plan)));
  EXPECT_TRUE(refused(fuseplanExecutePlan(layer.handle, plan, layer.desc, layer.dy.data(),
                                          layer.desc, layer.dx.data(), args),
                      fuseplanStatusBadParm, "bnBias"));
  // Alone, the activation's backward needs what it read.
  fuseplanOp_t alone_op;
  PlanPtr alone;
  ASSERT_TRUE(ok(fuseplanCreatePlan(&alone, fuseplanVerticalFusion, layer.desc)));
  ASSERT_TRUE(
      ok(fuseplanCreateOpActivationBackward(alone, &alone_op, fuseplanActivationTANH, nullptr)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(layer.handle, alone)));
  ASSERT_TRUE(ok(
      fuseplanSetOpArgsActivBackward(args, alone_op, nullptr, nullptr, nullptr, nullptr, 1, 1, 0)));
  EXPECT_TRUE(refused(fuseplanExecutePlan(layer.handle, alone, layer.desc, layer.dy.data(),
                                          layer.desc, layer.dx.data(), args),
                      fuseplanStatusBadParm, "argument x is NULL"));
}

}  // namespace
}  // namespace fuseplan::test
