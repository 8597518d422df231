// SPDX-License-Identifier: MIT
// Lives of plans: what may be destroyed when, edited when, shared with whom; and right results.
#include <functional>

#include "api_world.hpp"
#include "support/gtest.hpp"

namespace fuseplan::test {
namespace {

const void* data_of(const HostTensor& tensor) { return tensor.data(); }

/// conv + bias + activation with random data, through the plan API, against the reference.
class Plans : public ::testing::Test {
 protected:
  Plans()
      : handle_(make_handle("--cache=mem")),
        x_desc_(make_tensor({2, 5, 7, 6})),
        w_desc_(make_tensor({9, 5, 3, 3})),
        bias_desc_(make_tensor({1, 9, 1, 1})),
        y_desc_(make_tensor({2, 9, 7, 6})),
        x_(Element::f32, {2, 5, 7, 6}),
        w_(Element::f32, {9, 5, 3, 3}),
        bias_(Element::f32, {1, 9, 1, 1}),
        z_(Element::f32, {2, 9, 7, 6}) {
    for (HostTensor* tensor : {&x_, &w_, &bias_, &z_}) random_.fill(*tensor);
    EXPECT_TRUE(ok(fuseplanCreateOperatorArgs(&args_)));
  }

  PlanPtr make() {
    PlanPtr plan;
    EXPECT_TRUE(ok(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, x_desc_)));
    EXPECT_TRUE(ok(fuseplanCreateOpConvForward(plan, &conv_, make_convolution(1), w_desc_)));
    EXPECT_TRUE(ok(fuseplanCreateOpBiasForward(plan, &bias_op_, bias_desc_)));
    EXPECT_TRUE(
        ok(fuseplanCreateOpActivationForward(plan, &activation_, fuseplanActivationLEAKYRELU)));
    return plan;
  }
  void set_args(float alpha = 1, float beta = 0) {
    EXPECT_TRUE(ok(fuseplanSetOpArgsConvForward(args_, conv_, &alpha, nullptr, data_of(w_))));
    EXPECT_TRUE(
        ok(fuseplanSetOpArgsBiasForward(args_, bias_op_, nullptr, nullptr, data_of(bias_))));
    EXPECT_TRUE(ok(fuseplanSetOpArgsActivForward(args_, activation_, nullptr, &beta, 0.25, 0, 0)));
  }
  fuseplanStatus_t execute(fuseplanHandle_t handle, fuseplanPlan_t plan, HostTensor& y) {
    return fuseplanExecutePlan(handle, plan, x_desc_, data_of(x_), y_desc_, y.data(), args_);
  }
  std::vector<Step> steps(double alpha = 1, double beta = 0) const {
    return {{Convolution{&w_, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, alpha},
            {Bias{&bias_}},
            {Activation{Mode::LEAKYRELU, 0.25}, 1, beta}};
  }
  ::testing::AssertionResult is_right(const HostTensor& y) const {
    return is_close(y, run_reference(x_, steps()));
  }
  HostTensor output() const { return {Element::f32, {2, 9, 7, 6}}; }

  Random random_;
  HandlePtr handle_;
  TensorPtr x_desc_, w_desc_, bias_desc_, y_desc_;
  ArgsPtr args_;
  HostTensor x_, w_, bias_, z_;
  fuseplanOp_t conv_, bias_op_, activation_;
};

TEST_F(Plans, ComputeWhatTheirOpsSay) {
  const PlanPtr plan = make();
  set_args();
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  HostTensor y = output();
  ASSERT_TRUE(ok(execute(handle_, plan, y)));
  EXPECT_TRUE(is_right(y));
}

TEST_F(Plans, ScaleByAlphaAndBlendByBeta) {
  const PlanPtr plan = make();
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  set_args(-1.5f, 0.5f);
  HostTensor y = output();
  random_.fill(y);
  const HostTensor previous = y;
  ASSERT_TRUE(ok(execute(handle_, plan, y)));
  EXPECT_TRUE(is_close(y, run_reference(x_, steps(-1.5, 0.5), &previous)));
  set_args();
  ASSERT_TRUE(ok(execute(handle_, plan, y)));
  EXPECT_TRUE(is_right(y));
}

TEST_F(Plans, NeedNoDescriptorAfterTheCall) {
  PlanPtr plan = make();
  set_args();
  w_desc_.reset();
  bias_desc_.reset();
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  HostTensor y = output();
  ASSERT_TRUE(ok(execute(handle_, plan, y)));
  EXPECT_TRUE(is_right(y));
}

TEST_F(Plans, OutliveTheirHandle) {
  PlanPtr plan = make();
  set_args();
  HandlePtr other = make_handle("--cache=mem");
  ASSERT_TRUE(ok(fuseplanCompilePlan(other, plan)));
  other.reset();
  HostTensor y = output();
  EXPECT_TRUE(refused(execute(handle_, plan, y), fuseplanStatusNotCompiled, "not compiled"));
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  ASSERT_TRUE(ok(execute(handle_, plan, y)));
  EXPECT_TRUE(is_right(y));
  handle_.reset();
  plan.reset();
}

TEST_F(Plans, AreCompiledForEachHandleAndAgainForFree) {
  const PlanPtr plan = make();
  set_args();
  const HandlePtr second = make_handle("--cache=mem --max_isa=portable");
  for (int round = 0; round < 3; ++round)
    for (const fuseplanHandle_t handle : {fuseplanHandle_t(handle_), fuseplanHandle_t(second)}) {
      ASSERT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
      HostTensor y = output();
      ASSERT_TRUE(ok(execute(handle, plan, y)));
      EXPECT_TRUE(is_right(y));
    }
}

TEST_F(Plans, AreNotCompiledAfterAnEdit) {
  const PlanPtr plan = make();
  set_args();
  fuseplanOp_t op;
  const std::vector<std::function<fuseplanStatus_t()>> edits{
      [&] { return fuseplanPlanSetSolver(plan, "cpu_portable"); },
      [&] { return fuseplanPlanSetSolver(plan, nullptr); },
      [&] { return fuseplanPlanConvolutionSetAlgo(plan, fuseplanConvolutionFwdAlgoDirect); },
      [&] { return fuseplanPlanSetDynamicDims(plan, fuseplanDimBatch); },
      [&] { return fuseplanPlanSetOutputDescriptor(plan, y_desc_); },
      [&] { return fuseplanCreateOpActivationForward(plan, &op, fuseplanActivationPASTHRU); }};
  for (const auto& edit : edits) {
    HostTensor y = output();
    ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
    ASSERT_TRUE(ok(execute(handle_, plan, y)));
    ASSERT_TRUE(ok(edit()));
    EXPECT_TRUE(refused(execute(handle_, plan, y), fuseplanStatusNotCompiled, "edited since"));
  }
}

TEST_F(Plans, ShareArgumentsByOpNumber) {
  // Set for one plan, used by a shorter one after the first is gone: later entries are not read.
  PlanPtr longer = make();
  set_args();
  longer.reset();
  PlanPtr shorter;
  ASSERT_TRUE(ok(fuseplanCreatePlan(&shorter, fuseplanVerticalFusion, x_desc_)));
  fuseplanOp_t op;
  ASSERT_TRUE(ok(fuseplanCreateOpConvForward(shorter, &op, make_convolution(1), w_desc_)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, shorter)));
  HostTensor y = output();
  ASSERT_TRUE(ok(execute(handle_, shorter, y)));
  const std::vector<Step> all = steps();
  EXPECT_TRUE(is_close(y, run_reference(x_, std::span(all).first(1))));
  ASSERT_TRUE(ok(fuseplanCreateOpActivationForward(shorter, &op, fuseplanActivationABS)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, shorter)));
  EXPECT_TRUE(refused(execute(handle_, shorter, y), fuseplanStatusBadParm,
                      "op 1 is activation, but the arguments set for op 1 are those of bias"));
}

TEST_F(Plans, NoticeOverwrittenWeights) {
  const PlanPtr plan = make();
  set_args();
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  for (int round = 0; round < 3; ++round) {
    random_.fill(w_);
    HostTensor y = output();
    ASSERT_TRUE(ok(execute(handle_, plan, y)));
    EXPECT_TRUE(is_right(y)) << "round " << round;
  }
  ASSERT_TRUE(ok(fuseplanSetArgsFlags(args_, fuseplanArgsConstantWeights)));
  random_.fill(w_);
  set_args();  // tells that the constant is another one now
  HostTensor y = output();
  ASSERT_TRUE(ok(execute(handle_, plan, y)));
  EXPECT_TRUE(is_right(y));
}

TEST_F(Plans, GiveTheirOpsByNumber) {
  const PlanPtr plan = make();
  const fuseplanOp_t ops[] = {conv_, bias_op_, activation_};
  for (int i = 0; i < 3; ++i) {
    fuseplanOp_t op = nullptr;
    ASSERT_TRUE(ok(fuseplanPlanGetOp(plan, i, &op)));
    EXPECT_EQ(op, ops[i]);
    int lens[4];
    const TensorPtr derived = make_tensor({1});
    ASSERT_TRUE(ok(fuseplanPlanGetOpOutputDescriptor(plan, i, derived)));
    ASSERT_TRUE(ok(fuseplanGetTensorDescriptor(derived, nullptr, lens, nullptr)));
    EXPECT_EQ(std::vector<int>(lens, lens + 4), (std::vector<int>{2, 9, 7, 6}));
  }
}

TEST_F(Plans, AreTextAndBack) {
  const PlanPtr plan = make();
  const auto text = [](fuseplanPlan_t of) {
    return text_of([&](char* to, std::size_t* size) { return fuseplanPlanToString(of, to, size); });
  };
  EXPECT_EQ(text(plan),
            "f32:2x5x7x6:nchw;conv(f32:9x5x3x3:nchw,pad=1x1,stride=1x1,dilation=1x1,groups=1);"
            "bias(f32:1x9x1x1:nchw);activation(leakyrelu)->f32:2x9x7x6:nchw");
  EXPECT_EQ(text(make_plan(text(plan))), text(plan));
}

TEST_F(Plans, WriteAnotherTypeAndLayoutIfAsked) {
  const PlanPtr plan = make();
  set_args();
  const TensorPtr half = make_tensor({2, 9, 7, 6}, fuseplanHalf, fuseplanTensorNHWC);
  ASSERT_TRUE(ok(fuseplanPlanSetOutputDescriptor(plan, half)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  HostTensor y(Element::f16, {2, 9, 7, 6}, channels_last({2, 9, 7, 6}));
  ASSERT_TRUE(ok(fuseplanExecutePlan(handle_, plan, x_desc_, data_of(x_), half, y.data(), args_)));
  EXPECT_TRUE(is_right(y));
}

TEST_F(Plans, TakeOtherSizesWhereDynamic) {
  const PlanPtr plan = make();
  set_args();
  ASSERT_TRUE(ok(fuseplanPlanSetDynamicDims(plan, fuseplanDimBatch | fuseplanDimHeight)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  for (const int n : {1, 3})
    for (const int h : {1, 7, 10}) {
      HostTensor x(Element::f32, {n, 5, h, 6}), y(Element::f32, {n, 9, h, 6});
      random_.fill(x);
      ASSERT_TRUE(ok(fuseplanExecutePlan(handle_, plan, make_tensor({n, 5, h, 6}), x.data(),
                                         make_tensor({n, 9, h, 6}), y.data(), args_)));
      EXPECT_TRUE(is_close(y, run_reference(x, steps())));
    }
  HostTensor y = output();
  EXPECT_TRUE(refused(fuseplanExecutePlan(handle_, plan, make_tensor({2, 5, 7, 7}), data_of(x_),
                                          y_desc_, y.data(), args_),
                      fuseplanStatusBadParm, "not declared dynamic"));
}

TEST_F(Plans, ReportTheirTime) {
  const PlanPtr plan = make();
  set_args();
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan)));
  ASSERT_TRUE(ok(fuseplanEnableProfiling(handle_, true)));
  float time = -1;
  ASSERT_TRUE(ok(fuseplanGetKernelTime(handle_, &time)));
  EXPECT_EQ(time, 0);
  HostTensor y = output();
  ASSERT_TRUE(ok(execute(handle_, plan, y)));
  ASSERT_TRUE(ok(fuseplanGetKernelTime(handle_, &time)));
  EXPECT_GT(time, 0);
  EXPECT_LT(time, 10000);
}

struct OneShotCase {
  bool residual, bias;
  fuseplanActivationMode_t mode;
};

TEST_F(Plans, AreNotNeededForOneCall) {
  ActivationPtr activation;
  ASSERT_TRUE(ok(fuseplanCreateActivationDescriptor(&activation)));
  const ConvolutionPtr convolution = make_convolution(1);
  const auto any = static_cast<fuseplanConvFwdAlgorithm_t>(-1);
  const float alpha1 = 0.75f, alpha2 = -2.0f;
  for (const OneShotCase& c : {OneShotCase{true, true, fuseplanActivationRELU},
                               {false, true, fuseplanActivationTANH},
                               {true, false, fuseplanActivationCLAMP},
                               {false, false, fuseplanActivationPASTHRU},
                               {true, true, fuseplanActivationRELU}}) {
    ASSERT_TRUE(ok(fuseplanSetActivationDescriptor(activation, c.mode, 0.5, 0.75, 0)));
    HostTensor y = output();
    ASSERT_TRUE(ok(fuseplanConvolutionBiasActivationForward(
        handle_, &alpha1, x_desc_, data_of(x_), w_desc_, data_of(w_), convolution, any, nullptr, 0,
        &alpha2, c.residual ? fuseplanTensorDescriptor_t(y_desc_) : nullptr,
        c.residual ? data_of(z_) : nullptr, bias_desc_, c.bias ? data_of(bias_) : nullptr,
        activation, y_desc_, y.data())));
    std::vector<Step> steps{{Convolution{&w_, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, alpha1}};
    if (c.residual) steps.push_back({Add{&z_, alpha2}});
    if (c.bias) steps.push_back({Bias{&bias_}});
    steps.push_back({Activation{static_cast<Mode>(c.mode), 0.5, 0.75}});
    EXPECT_TRUE(is_close(y, run_reference(x_, steps)));
    if (!c.residual) continue;
    HostTensor sum = z_;  // which the result overwrites
    ASSERT_TRUE(ok(fuseplanConvolutionBiasActivationForward(
        handle_, &alpha1, x_desc_, data_of(x_), w_desc_, data_of(w_), convolution, any, nullptr, 0,
        &alpha2, y_desc_, sum.data(), bias_desc_, c.bias ? data_of(bias_) : nullptr, activation,
        y_desc_, sum.data())));
    EXPECT_TRUE(is_close(sum, run_reference(x_, steps)));
  }
}

}  // namespace
}  // namespace fuseplan::test
