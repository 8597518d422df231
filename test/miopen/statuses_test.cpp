// SPDX-License-Identifier: MIT
// Which call answers what: Compile alone decides about support, getters are probes, workspaces are
// 0.
#include <climits>
#include <cstring>
#include <functional>

#include "world.hpp"

namespace fuseplan::test {
namespace {

// 10. After a successful Compile, Execute does not fail, and is right.
TEST(Rules, WhatCompilesExecutes) {
  Random random;
  Handle handle;
  int compiled = 0;
  for (const Element type : {Element::f32, Element::f16, Element::bf16})
    for (const bool last : {false, true})
      for (const int groups : {1, 3})
        for (const auto mode : {miopenActivationRELU, miopenActivationTANH, miopenActivationELU}) {
          ConvBiasAct all(random, type, last, 6, 9, groups);
          all.plan = FusionPlan(all.x);
          all.plan.conv(all.conv_desc, all.w_desc);
          all.plan.bias(all.b_desc);
          all.plan.act(all.mode = mode);
          all.alpha = 0.8;
          all.beta = 1.2;
          all.set_args(all.args);
          ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
          ++compiled;
          ASSERT_TRUE(ok(all.execute(handle)));
          EXPECT_TRUE(all.right()) << name_of(type) << " mode " << mode << " groups " << groups;
        }
  EXPECT_EQ(compiled, 36);
}

// 11. Unsupported is status 8, from Compile.
TEST(Rules, UnsupportedIsCompilesAnswer) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  const TensorDesc wide = describe(miopenDouble, {2, 6, 9, 11}),
                   vector = describe(miopenFloat, {6});
  ConvDesc transposed;
  ASSERT_TRUE(ok(miopenInitConvolutionDescriptor(transposed, miopenTranspose, 1, 1, 1, 1, 1, 1)));
  const TensorDesc back = describe(miopenFloat, {6, 10, 3, 3});
  const ConvDesc tight = convolution({0, 0});
  const TensorDesc large = describe(miopenFloat, {10, 6, 20, 3});
  struct Case {
    const char* reason;
    miopenTensorDescriptor_t input;
    std::function<void(FusionPlan&)> append;
    miopenFusionDirection_t direction = miopenVerticalFusion;
  };
  const Case cases[] = {
      {"no op", all.x_desc, [](FusionPlan&) {}},
      {"vertical", all.x_desc, [](FusionPlan& p) { p.act(miopenActivationRELU); },
       miopenHorizontalFusion},
      {"first op", all.x_desc,
       [&](FusionPlan& p) {
         p.act(miopenActivationRELU);
         p.conv(all.conv_desc, all.w_desc);
       }},
      {"transposed", all.x_desc, [&](FusionPlan& p) { p.conv(transposed, back); }},
      {"", all.x_desc, [&](FusionPlan& p) { p.conv(tight, large); }},  // the filter does not fit
      {"data type", wide, [](FusionPlan& p) { p.act(miopenActivationRELU); }},
      {"rank", vector, [](FusionPlan& p) { p.act(miopenActivationRELU); }},
      {"activation mode", all.x_desc,
       [](FusionPlan& p) { p.act(static_cast<miopenActivationMode_t>(77)); }},
      {"normalisation mode", all.x_desc,
       [&](FusionPlan& p) { p.norm(static_cast<miopenBatchNormMode_t>(5), all.b_desc); }}};
  for (const Case& one : cases) {
    FusionPlan plan(one.direction, one.input);
    one.append(plan);
    EXPECT_TRUE(
        refused(miopenCompileFusionPlan(handle, plan), miopenStatusUnsupportedOp, one.reason));
    EXPECT_TRUE(refused(miopenExecuteFusionPlan(handle, plan, one.input, all.x.data(), one.input,
                                                all.x.data(), all.args),
                        miopenStatusBadParm, "not compiled"));
  }
}

TEST(Rules, OnlyAnImpossibleConvolutionIsRefusedAtCreation) {
  Random random;
  ConvBiasAct all(random);
  FusionPlan plan(all.x);
  miopenFusionOpDescriptor_t op;
  const TensorDesc channels = describe(miopenFloat, {10, 7, 3, 3}),
                   type = describe(miopenHalf, {10, 6, 3, 3}),
                   rank = describe(miopenFloat, {10, 6});
  EXPECT_TRUE(refused(miopenCreateOpConvForward(plan, &op, all.conv_desc, channels),
                      miopenStatusBadParm, "channels"));
  EXPECT_TRUE(refused(miopenCreateOpConvForward(plan, &op, all.conv_desc, type),
                      miopenStatusBadParm, "type"));
  EXPECT_TRUE(refused(miopenCreateOpConvForward(plan, &op, all.conv_desc, rank),
                      miopenStatusBadParm, "rank"));
  EXPECT_TRUE(ok(miopenCreateOpConvForward(plan, &op, all.conv_desc, all.w_desc)));
}

// 13. Getters are used as probes.
TEST(Rules, GettersAreProbes) {
  for (const int dims : {2, 3}) {
    const std::vector<int> ones(static_cast<std::size_t>(dims), 1);
    const ConvDesc desc = convolution(ones, {2, 3, 4}, ones);
    int found = 0;
    ASSERT_TRUE(
        ok(miopenGetConvolutionNdDescriptor(desc, 0, &found, nullptr, nullptr, nullptr, nullptr)));
    EXPECT_EQ(found, dims);
    int request = 1, pad[4], stride[4], dilation[4];
    miopenConvolutionMode_t mode;
    while (miopenGetConvolutionNdDescriptor(desc, request, &found, pad, stride, dilation, &mode) ==
           miopenStatusSuccess) {
      EXPECT_EQ(stride[request - 1], request + 1);
      ++request;
    }
    EXPECT_EQ(request, dims + 1);
  }
  const TensorDesc tensor = describe(miopenHalf, {3, 4, 5});
  int lens[3], strides[3];
  miopenDataType_t type;
  EXPECT_TRUE(ok(miopenGetTensorDescriptor(tensor, &type, lens, nullptr)));
  EXPECT_EQ(lens[2], 5);
  EXPECT_TRUE(ok(miopenGetTensorDescriptor(tensor, nullptr, nullptr, strides)));
  EXPECT_EQ(strides[0], 20);
  EXPECT_TRUE(ok(miopenGetTensorDescriptor(tensor, nullptr, nullptr, nullptr)));
}

// 14. Workspace calls come early and oddly.
TEST(Rules, WorkspaceCallsComeEarly) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  std::size_t size = 77;
  ASSERT_TRUE(ok(miopenFusionPlanGetWorkSpaceSize(handle, all.plan, &size,
                                                  static_cast<miopenConvFwdAlgorithm_t>(-1))));
  EXPECT_EQ(size, 0u);
  miopenConvFwdAlgorithm_t algos[8];
  int count = 0;
  ASSERT_TRUE(ok(miopenFusionPlanConvolutionGetAlgo(all.plan, 8, &count, algos)));
  ASSERT_GE(count, 1);
  ASSERT_TRUE(ok(miopenFusionPlanConvolutionSetAlgo(all.plan, algos[count - 1])));
  ASSERT_TRUE(ok(miopenFusionPlanConvolutionGetAlgo(all.plan, 1, &count, algos)));
  EXPECT_EQ(count, 1);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  const auto run = [&](void* workspace, std::size_t bytes) {
    return miopenExecuteFusionPlan_v2(handle, all.plan, all.x_desc, all.x.data(), all.y_desc,
                                      all.y.data(), all.args, workspace, bytes);
  };
  EXPECT_TRUE(refused(run(nullptr, 16), miopenStatusBadParm, "workspace"));
  for (const auto& [type, name] : {std::pair{miopenFloat, "f32"}, {miopenDouble, "type 6"}})
    EXPECT_TRUE(refused(
        miopenExecuteFusionPlan(handle, all.plan, describe(type, {1, 3, 1, 1}), all.x.data(),
                                all.y_desc, all.y.data(), all.args),
        miopenStatusBadParm,
        std::string("inputDesc is ") + name + ":1x3x1x1:s3,1,1,1, the plan was compiled for f32:"));
  ASSERT_TRUE(ok(run(nullptr, 0)));
  EXPECT_TRUE(all.right());
}

TEST(Statuses, NullObjectsAndPointers) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  miopenFusionOpDescriptor_t op;
  std::size_t size;
  int count;
  EXPECT_EQ(miopenCreate(nullptr), miopenStatusBadParm);
  EXPECT_EQ(miopenCreateTensorDescriptor(nullptr), miopenStatusBadParm);
  EXPECT_EQ(miopenCreateFusionPlan(nullptr, miopenVerticalFusion, all.x_desc), miopenStatusBadParm);
  miopenFusionPlanDescriptor_t plan;
  EXPECT_EQ(miopenCreateFusionPlan(&plan, miopenVerticalFusion, nullptr), miopenStatusBadParm);
  EXPECT_EQ(miopenCreateOpConvForward(nullptr, &op, all.conv_desc, all.w_desc),
            miopenStatusBadParm);
  EXPECT_EQ(miopenCreateOpConvForward(all.plan, nullptr, all.conv_desc, all.w_desc),
            miopenStatusBadParm);
  EXPECT_EQ(miopenCreateOpConvForward(all.plan, &op, nullptr, all.w_desc), miopenStatusBadParm);
  EXPECT_EQ(miopenCreateOpBiasForward(all.plan, &op, nullptr), miopenStatusBadParm);
  EXPECT_EQ(miopenCompileFusionPlan(nullptr, all.plan), miopenStatusBadParm);
  EXPECT_EQ(miopenCompileFusionPlan(handle, nullptr), miopenStatusBadParm);
  EXPECT_EQ(
      miopenFusionPlanGetWorkSpaceSize(nullptr, all.plan, &size, miopenConvolutionFwdAlgoDirect),
      miopenStatusBadParm);
  EXPECT_EQ(miopenFusionPlanConvolutionGetAlgo(nullptr, 1, &count, nullptr), miopenStatusBadParm);
  EXPECT_EQ(miopenFusionPlanConvolutionSetAlgo(nullptr, miopenConvolutionFwdAlgoDirect),
            miopenStatusBadParm);
  for (const int index : {-1, 3, 1000})
    EXPECT_TRUE(
        refused(miopenFusionPlanGetOp(all.plan, index, &op), miopenStatusBadParm, "op_idx"));
  EXPECT_EQ(miopenDestroy(nullptr), miopenStatusSuccess);
  EXPECT_EQ(miopenDestroyTensorDescriptor(nullptr), miopenStatusSuccess);
  EXPECT_EQ(miopenDestroyConvolutionDescriptor(nullptr), miopenStatusSuccess);
  EXPECT_EQ(miopenDestroyActivationDescriptor(nullptr), miopenStatusSuccess);
  EXPECT_EQ(miopenDestroyPoolingDescriptor(nullptr), miopenStatusSuccess);
  EXPECT_EQ(miopenDestroyFusionPlan(nullptr), miopenStatusSuccess);
  EXPECT_EQ(miopenDestroyOperatorArgs(nullptr), miopenStatusSuccess);
}

TEST(Statuses, ObjectsThatAreNotThere) {
  Random random;
  ConvBiasAct all(random);
  Handle handle;
  miopenHandle_t gone;
  ASSERT_TRUE(ok(miopenCreate(&gone)));
  ASSERT_TRUE(ok(miopenDestroy(gone)));
  EXPECT_TRUE(refused(miopenDestroy(gone), miopenStatusBadParm, "handle"));
  EXPECT_TRUE(refused(miopenCompileFusionPlan(gone, all.plan), miopenStatusBadParm, "handle"));
  EXPECT_TRUE(
      refused(miopenCompileFusionPlan(handle, reinterpret_cast<miopenFusionPlanDescriptor_t>(&all)),
              miopenStatusBadParm, "fusePlanDesc"));
  int number = 0;
  EXPECT_TRUE(refused(
      miopenGetTensorDescriptorSize(reinterpret_cast<miopenTensorDescriptor_t>(&number), &number),
      miopenStatusBadParm));
  TensorDesc never_set;
  EXPECT_TRUE(refused(miopenCreateFusionPlan(nullptr, miopenVerticalFusion, never_set),
                      miopenStatusBadParm));
  EXPECT_EQ(miopenGetTensorDescriptorSize(never_set, &number), miopenStatusBadParm);
}

TEST(Statuses, DescriptorSetters) {
  TensorDesc tensor;
  ConvDesc conv;
  const int lens[] = {1, 2, 3, 4}, zero[] = {1, 0, 3, 4};
  const auto set = [&](int count, const int* dims, const int* strides) {
    return miopenSetTensorDescriptor(tensor, miopenFloat, count, dims, strides);
  };
  EXPECT_EQ(set(0, lens, nullptr), miopenStatusInvalidValue);
  EXPECT_EQ(set(-1, lens, nullptr), miopenStatusInvalidValue);
  EXPECT_EQ(set(4, nullptr, nullptr), miopenStatusInvalidValue);
  EXPECT_EQ(set(4, zero, nullptr), miopenStatusBadParm);
  EXPECT_EQ(set(4, lens, zero), miopenStatusBadParm);
  EXPECT_EQ(miopenSet4dTensorDescriptor(tensor, static_cast<miopenDataType_t>(4), 1, 1, 1, 1),
            miopenStatusBadParm);
  EXPECT_EQ(miopenSet4dTensorDescriptor(tensor, miopenFloat, 1, -1, 1, 1), miopenStatusBadParm);
  EXPECT_EQ(miopenSetNdTensorDescriptorWithLayout(tensor, miopenFloat, miopenTensorNDHWC, lens, 4),
            miopenStatusBadParm);
  EXPECT_EQ(miopenSetNdTensorDescriptorWithLayout(tensor, miopenFloat, miopenTensorNHWC, lens, 4),
            miopenStatusSuccess);
  int n, c, h, w, ns, cs, hs, ws;
  miopenDataType_t type;
  ASSERT_TRUE(ok(miopenGet4dTensorDescriptor(tensor, &type, &n, &c, &h, &w, &ns, &cs, &hs, &ws)));
  EXPECT_EQ(std::tuple(n, c, h, w, ns, cs, hs, ws), std::tuple(1, 2, 3, 4, 24, 1, 8, 2));
  EXPECT_EQ(miopenGet4dTensorDescriptor(tensor, &type, &n, &c, &h, &w, nullptr, &cs, &hs, &ws),
            miopenStatusBadParm);
  const auto init = [&](int mode, int pad, int stride, int dilation) {
    return miopenInitConvolutionDescriptor(conv, static_cast<miopenConvolutionMode_t>(mode), pad,
                                           pad, stride, stride, dilation, dilation);
  };
  EXPECT_EQ(init(0, -1, 1, 1), miopenStatusBadParm);
  EXPECT_EQ(init(0, 0, 0, 1), miopenStatusBadParm);
  EXPECT_EQ(init(0, 0, 1, 0), miopenStatusBadParm);
  EXPECT_EQ(init(9, 0, 1, 1), miopenStatusBadParm);
  EXPECT_EQ(miopenSetConvolutionGroupCount(conv, 0), miopenStatusBadParm);
  miopenConvolutionMode_t mode;
  for (const auto& [given, kept] : {std::pair{0, 0}, {1, 1}, {2, 0}, {3, 0}}) {
    ASSERT_EQ(init(given, 0, 1, 1), miopenStatusSuccess);
    ASSERT_TRUE(ok(miopenGetConvolutionDescriptor(conv, &mode, nullptr, nullptr, nullptr, nullptr,
                                                  nullptr, nullptr)));
    EXPECT_EQ(mode, kept);
  }
  int value = -1;
  ASSERT_TRUE(ok(miopenSetConvolutionAttribute(conv, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1)));
  ASSERT_TRUE(
      ok(miopenGetConvolutionAttribute(conv, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, &value)));
  EXPECT_EQ(value, 1);
}

TEST(Statuses, OutputLengthsFitAnInt) {
  const ConvDesc conv = convolution({INT_MAX, INT_MAX});
  const TensorDesc x = describe(miopenFloat, {64, 16, 32, 32}),
                   w = describe(miopenFloat, {16, 16, 3, 3});
  int lens[4] = {-7, -7, -7, -7}, rank = -7;
  EXPECT_TRUE(
      refused(miopenGetConvolutionForwardOutputDim(conv, x, w, lens, lens + 1, lens + 2, lens + 3),
              miopenStatusBadParm, "exceeds an int"));
  EXPECT_TRUE(refused(miopenGetConvolutionNdForwardOutputDim(conv, x, w, &rank, lens),
                      miopenStatusBadParm, "64x16x4294967324x4294967324"));
  EXPECT_EQ(rank, -7);
  EXPECT_EQ(lens[0], -7);
}

TEST(Statuses, OutputLengthsAreAtLeastOne) {
  const auto out = [](const ConvDesc& conv, std::vector<int> x, std::vector<int> w) {
    int lens[5] = {}, rank = 0;
    EXPECT_TRUE(ok(miopenGetConvolutionNdForwardOutputDim(conv, describe(miopenFloat, x),
                                                          describe(miopenFloat, w), &rank, lens)));
    return std::vector<int>(lens, lens + rank);
  };
  EXPECT_EQ(out(convolution({1, 2}, {2, 1}, {1, 2}), {2, 3, 9, 9}, {5, 3, 3, 3}),
            (std::vector{2, 5, 5, 9}));
  EXPECT_EQ(out(convolution({0, 0}), {1, 3, 2, 9}, {5, 3, 3, 3}), (std::vector{1, 5, 1, 7}));
  EXPECT_EQ(out(convolution({1, 1, 1}, {1, 2, 1}, {1, 1, 1}), {1, 2, 4, 5, 6}, {7, 2, 3, 3, 3}),
            (std::vector{1, 7, 4, 3, 6}));
  ConvDesc transposed;
  ASSERT_TRUE(ok(miopenInitConvolutionDescriptor(transposed, miopenTranspose, 1, 1, 2, 2, 1, 1)));
  ASSERT_TRUE(ok(miopenSetTransposeConvOutputPadding(transposed, 1, 0)));
  EXPECT_EQ(out(transposed, {1, 4, 5, 5}, {4, 6, 3, 3}), (std::vector{1, 6, 10, 9}));
}

TEST(Statuses, NamesAndVersion) {
  EXPECT_STREQ(miopenGetErrorString(miopenStatusUnsupportedOp), "miopenStatusUnsupportedOp");
  EXPECT_STREQ(miopenGetErrorString(miopenStatusVersionMismatch), "miopenStatusVersionMismatch");
  EXPECT_STREQ(miopenGetErrorString(static_cast<miopenStatus_t>(11)), "Unknown error status");
  std::size_t major = 0;
  EXPECT_EQ(miopenGetVersion(&major, nullptr, nullptr), miopenStatusSuccess);
  EXPECT_EQ(major, 3u);
}

TEST(Statuses, WhatIsLinkedButNotDone) {
  EXPECT_TRUE(refused(miopenCreateRNNDescriptor(nullptr), miopenStatusNotImplemented,
                      "miopenCreateRNNDescriptor"));
  EXPECT_TRUE(refused(miopenLRNGetWorkSpaceSize(nullptr, nullptr), miopenStatusNotImplemented));
}

TEST(Statuses, HandlesKeepTheirSettings) {
  miopenHandle_t handle;
  const auto stream = reinterpret_cast<miopenAcceleratorQueue_t>(&handle);
  miopenAcceleratorQueue_t found = nullptr;
  float time = -1;
  ASSERT_TRUE(ok(miopenCreateWithStream(&handle, stream)));
  ASSERT_TRUE(ok(miopenGetStream(handle, &found)));
  EXPECT_EQ(found, stream);
  ASSERT_TRUE(ok(miopenSetStream(handle, nullptr)));
  ASSERT_TRUE(ok(miopenGetStream(handle, &found)));
  EXPECT_EQ(found, nullptr);
  ASSERT_TRUE(ok(miopenGetKernelTime(handle, &time)));
  EXPECT_EQ(time, 0);
  ASSERT_TRUE(ok(miopenEnableProfiling(handle, true)));
  Random random;
  ConvBiasAct all(random);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  ASSERT_TRUE(ok(all.execute(handle)));
  ASSERT_TRUE(ok(miopenGetKernelTime(handle, &time)));
  EXPECT_GT(time, 0);
  EXPECT_TRUE(ok(miopenSetAllocator(handle, nullptr, nullptr, nullptr)));
  EXPECT_TRUE(ok(miopenDestroy(handle)));
}

}  // namespace
}  // namespace fuseplan::test
