// SPDX-License-Identifier: MIT
// What MIOpen's clients lean on: how plans are made and what their arguments mean.
#include <cfloat>

#include "world.hpp"

namespace fuseplan::test {
namespace {

/// Runs a plan of conv, any bias ops, RELU over `all`, with `biases` in their order.
::testing::AssertionResult runs_with_biases(ConvBiasAct& all, const std::vector<TensorDesc>& descs,
                                            const std::vector<const HostTensor*>& biases,
                                            const std::vector<Step>& steps) {
  Handle handle;
  FusionPlan plan(all.x);
  OpArgs args;
  all.y = all.y.like();
  EXPECT_TRUE(ok(miopenSetOpArgsConvForward(args, plan.conv(all.conv_desc, all.w_desc), nullptr,
                                            nullptr, all.w.data())));
  for (std::size_t i = 0; i < descs.size(); ++i)
    EXPECT_TRUE(ok(miopenSetOpArgsBiasForward(args, plan.bias(descs[i]), nullptr, nullptr,
                                              biases[i]->data())));
  EXPECT_TRUE(ok(miopenSetOpArgsActivForward(args, plan.act(miopenActivationRELU), nullptr, nullptr,
                                             0, 0, 0)));
  EXPECT_TRUE(ok(miopenCompileFusionPlan(handle, plan)));
  EXPECT_TRUE(ok(miopenExecuteFusionPlan(handle, plan, all.x_desc, all.x.data(), all.y_desc,
                                         all.y.data(), args)));
  return is_close(all.y, run_reference(all.x, steps));
}

Step conv_step(const ConvBiasAct& all) {
  return {Convolution{&all.w, {1, 1}, {1, 1}, {1, 1}, {1, 1}, all.groups}};
}

TEST(Fusion, ConvolutionBiasActivation) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  ASSERT_TRUE(ok(all.execute(handle)));
  EXPECT_TRUE(all.right());
}

// 1. alpha and beta may be NULL, dangling or odd.
TEST(Rules, FusedScalarsAreNeverRead) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  const void* nowhere = reinterpret_cast<const void*>(8);  // reading it would end the process
  const float one = 1;
  const double seven = 7;
  ASSERT_TRUE(
      ok(miopenSetOpArgsConvForward(all.args, all.plan.op(0), nowhere, nowhere, all.w.data())));
  ASSERT_TRUE(ok(miopenSetOpArgsBiasForward(all.args, all.plan.op(1), &seven, &one, all.b.data())));
  ASSERT_TRUE(ok(miopenSetOpArgsActivForward(all.args, all.plan.op(2), nowhere, &one, 0, 0, 0)));
  ASSERT_TRUE(ok(all.execute(handle)));  // over canaries, which are NaN
  EXPECT_TRUE(all.right());
}

// 2. A plan's only bias is K values, whatever its descriptor says.
TEST(Rules, TheBiasDescriptorIsNotBelieved) {
  for (const bool channels_last : {false, true}) {
    Random random;
    ConvBiasAct all(random, Element::f32, channels_last, 6, 10);
    const std::vector<Step> steps{conv_step(all), {Bias{&all.b}}, {Activation{Mode::RELU}}};
    std::vector<TensorDesc> descs;
    descs.push_back(describe(miopenFloat, {1, 6, 1, 1}));                  // C of the input
    descs.push_back(describe(miopenFloat, {1, 11, 1, 1}));                 // W, read as C
    descs.push_back(describe(miopenFloat, {1, 10, 1, 1}, {10, 1, 1, 1}));  // [1, K] made 4-D
    descs.push_back(describe(miopenFloat, {2, 10, 9, 11}));                // the whole output
    descs.push_back(describe(miopenFloat, {10}));
    for (TensorDesc& desc : descs) {
      std::vector<TensorDesc> one;
      one.push_back(std::move(desc));
      EXPECT_TRUE(runs_with_biases(all, one, {&all.b}, steps));
      desc = std::move(one.front());
    }
  }
}

TEST(Rules, TheBiasHasItsDescriptorsType) {
  Random random;
  ConvBiasAct all(random, Element::bf16);
  const HostTensor b = random_tensor(Element::f32, {1, 10, 1, 1}, random);
  std::vector<TensorDesc> descs;
  descs.push_back(describe(b));
  EXPECT_TRUE(
      runs_with_biases(all, descs, {&b}, {conv_step(all), {Bias{&b}}, {Activation{Mode::RELU}}}));
}

// 3. A second bias op with the output's lengths is a residual, element by element.
TEST(Rules, AResidualAsSecondBiasIsAddedElementByElement) {
  for (const bool residual_first : {true, false}) {
    Random random;
    ConvBiasAct all(random);
    const HostTensor z = random_tensor(Element::f32, {2, 10, 9, 11}, random);
    std::vector<TensorDesc> descs;
    descs.push_back(describe(residual_first ? z : all.b));
    descs.push_back(describe(residual_first ? all.b : z));
    std::vector<const HostTensor*> biases{&z, &all.b};
    if (!residual_first) std::swap(biases[0], biases[1]);
    EXPECT_TRUE(runs_with_biases(
        all, descs, biases, {conv_step(all), {Bias{&all.b}}, {Add{&z}}, {Activation{Mode::RELU}}}));
  }
}

TEST(Rules, BiasesThatCannotBeToldApartAreRefused) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  const std::vector<std::vector<int>> kUnclear[] = {
      {{2, 10, 9, 11}, {2, 10, 9, 11}},  // which of them is per channel?
      {{1, 6, 1, 1}, {2, 10, 9, 11}},    // K values described as C: or is it neither?
      {{1, 10, 1, 1}, {1, 10, 9, 11}}};
  for (const auto& lens : kUnclear) {
    FusionPlan plan(all.x);
    plan.conv(all.conv_desc, all.w_desc);
    for (const auto& one : lens) plan.bias(describe(miopenFloat, one));
    plan.act(miopenActivationRELU);
    EXPECT_TRUE(refused(miopenCompileFusionPlan(handle, plan), miopenStatusUnsupportedOp, "bias"));
  }
}

// 4. The normalisation's descriptor may be wrong: never at creation.
TEST(Rules, AWrongNormDescriptorIsRefusedByCompile) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  TensorDesc of_input;
  ASSERT_TRUE(ok(miopenDeriveBNTensorDescriptor(of_input, all.x_desc, miopenBNSpatial)));
  const TensorDesc half = describe(miopenHalf, {1, 10, 1, 1});
  for (const auto desc : {miopenTensorDescriptor_t(of_input), miopenTensorDescriptor_t(half)}) {
    FusionPlan plan(all.x);
    plan.conv(all.conv_desc, all.w_desc);
    plan.norm(miopenBNSpatial, desc);
    plan.act(miopenActivationRELU);
    EXPECT_TRUE(refused(miopenCompileFusionPlan(handle, plan), miopenStatusUnsupportedOp,
                        "batch normalisation's descriptor"));
  }
}

TEST(Rules, ConvolutionNormActivation) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  TensorDesc derived;
  ASSERT_TRUE(ok(miopenDeriveBNTensorDescriptor(derived, all.y_desc, miopenBNSpatial)));
  const HostTensor scale = random_tensor(Element::f32, {1, 10, 1, 1}, random),
                   mean = random_tensor(Element::f32, {1, 10, 1, 1}, random),
                   variance = random_tensor(Element::f32, {1, 10, 1, 1}, random, 0.1, 2);
  FusionPlan plan(all.x);
  OpArgs args;
  ASSERT_TRUE(ok(miopenSetOpArgsConvForward(args, plan.conv(all.conv_desc, all.w_desc), nullptr,
                                            nullptr, all.w.data())));
  ASSERT_TRUE(ok(miopenSetOpArgsBatchNormInference(args, plan.norm(miopenBNSpatial, derived),
                                                   nullptr, nullptr, scale.data(), all.b.data(),
                                                   mean.data(), variance.data(), 1e-5)));
  ASSERT_TRUE(ok(miopenSetOpArgsActivForward(args, plan.act(miopenActivationLEAKYRELU), nullptr,
                                             nullptr, 0.2, 0, 0)));
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, plan)));
  ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, plan, all.x_desc, all.x.data(), all.y_desc,
                                         all.y.data(), args)));
  EXPECT_TRUE(is_close(
      all.y,
      run_reference(all.x, std::vector<Step>{conv_step(all),
                                             {BatchNorm{&scale, &all.b, &mean, &variance, 1e-5}},
                                             {Activation{Mode::LEAKYRELU, 0.2}}})));
}

// 15. Numbers of the modes, and which parameter each reads.
TEST(Rules, ModesAreNumbersAndReadTheirOwnParameters) {
  constexpr struct {
    int mode;
    double a, b, g;
  } kCases[] = {{7, 0.75, 9, 9},
                {8, 0.25, 9, 9},
                {10, -0.5, 0.5, 9},
                {2, 0.8, 1.3, 9},
                {10, -FLT_MAX, FLT_MAX, 0},
                {0, 9, 9, 9},
                {1, 9, 9, 9},
                {3, 9, 9, 9},
                {4, 9, 9, 9},
                {5, 9, 9, 9},
                {6, 0.2, 1.1, 1.5},
                {9, 1.1, 9, 9}};
  Random random;
  Handle handle;
  for (const auto& [mode, a, b, g] : kCases) {
    const HostTensor x = random_tensor(Element::f32, {2, 5, 7, 3}, random, -3, 3);
    HostTensor y = x.like();
    FusionPlan plan(x);
    OpArgs args;
    ASSERT_TRUE(ok(miopenSetOpArgsActivForward(
        args, plan.act(static_cast<miopenActivationMode_t>(mode)), nullptr, nullptr, a, b, g)));
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, plan)));
    const TensorDesc desc = describe(x);
    ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, plan, desc, x.data(), desc, y.data(), args)));
    // MIOpen's POWER is 0 for a base up to 1e-6.
    const Mode meant = mode == 6 ? Mode::TRUNCATEDPOWER : static_cast<Mode>(mode);
    EXPECT_TRUE(is_close(y, run_reference(x, std::vector<Step>{{Activation{meant, a, b, g}}})))
        << "mode " << mode;
  }
}

// 16. Activation parameters arrive per call, and the spellings of 2018 are functions.
TEST(Rules, ActivationParametersBelongToTheCall) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  FusionPlan plan(all.x);
  miopenFusionOpDescriptor_t conv;
  ASSERT_TRUE(ok(miopenCreateOpConvForwardAlgo(plan, &conv, all.conv_desc,
                                               miopenConvolutionFwdAlgoDirect, all.w_desc)));
  const auto act = plan.act(miopenActivationLEAKYRELU);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, plan)));
  ASSERT_TRUE(ok(miopenSetOpArgsConvForward(all.args, conv, nullptr, nullptr, all.w.data())));
  for (const double slope : {0.1, 0.7, -1.5}) {
    ASSERT_TRUE(ok(miopenSetOpArgsActivForward(all.args, act, nullptr, nullptr, slope, 0, 0)));
    ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, plan, all.x_desc, all.x.data(), all.y_desc,
                                           all.y.data(), all.args)));
    EXPECT_TRUE(is_close(
        all.y, run_reference(all.x, std::vector<Step>{conv_step(all),
                                                      {Activation{Mode::LEAKYRELU, slope}}})));
  }
  miopenFusionPlanDescriptor_t old;
  ASSERT_TRUE(ok(miopenCreateFusionPlan(&old, miopenVerticalFusion, all.x_desc)));
  EXPECT_TRUE(ok(miopenDestroyFusionPlanDescriptor(old)));
}

// 17. Groups: depthwise, and grouped bfloat16 with channels last.
TEST(Rules, GroupsAreComputedAsGroups) {
  Random random;
  Handle handle;
  for (const auto& [type, last, channels, filters, groups] :
       {std::tuple{Element::f32, false, 12, 12, 12},
        {Element::bf16, true, 16, 32, 4},
        {Element::f16, false, 8, 16, 2}}) {
    ConvBiasAct all(random, type, last, channels, filters, groups);
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
    ASSERT_TRUE(ok(all.execute(handle)));
    EXPECT_TRUE(all.right()) << name_of(type) << " in " << groups << " groups";
  }
}

}  // namespace
}  // namespace fuseplan::test
