// SPDX-License-Identifier: MIT
#include "api_world.hpp"

namespace fuseplan::test {

HandlePtr make_handle(const char* options) {
  HandlePtr handle;
  EXPECT_TRUE(ok(fuseplanCreate(&handle)));
  EXPECT_TRUE(ok(fuseplanSetOptions(handle, options)));
  return handle;
}

TensorPtr make_tensor(const std::vector<int>& lens, fuseplanDataType_t type,
                      fuseplanTensorLayout_t layout) {
  TensorPtr tensor;
  EXPECT_TRUE(ok(fuseplanCreateTensorDescriptor(&tensor)));
  const int rank = static_cast<int>(lens.size());
  const bool has_layout = (rank == 4 || rank == 5) && layout != fuseplanTensorNCHW;
  EXPECT_TRUE(ok(
      has_layout ? fuseplanSetNdTensorDescriptorWithLayout(tensor, type, layout, lens.data(), rank)
                 : fuseplanSetTensorDescriptor(tensor, type, rank, lens.data(), nullptr)));
  return tensor;
}

ConvolutionPtr make_convolution(int pad, int stride, int dilation) {
  ConvolutionPtr convolution;
  EXPECT_TRUE(ok(fuseplanCreateConvolutionDescriptor(&convolution)));
  EXPECT_TRUE(ok(fuseplanInitConvolutionDescriptor(convolution, fuseplanConvolution, pad, pad,
                                                   stride, stride, dilation, dilation)));
  return convolution;
}

PlanPtr make_plan(const std::string& text) {
  PlanPtr plan;
  EXPECT_TRUE(ok(fuseplanCreatePlanFromString(&plan, text.c_str())));
  return plan;
}

World::World()
    : handle(make_handle("--cache=mem")),
      x(make_tensor({1, 4, 6, 6})),
      w(make_tensor({8, 4, 3, 3})),
      y(make_tensor({1, 8, 6, 6})),
      channel(make_tensor({1, 8, 1, 1})),
      convolution(make_convolution(1)),
      x_data(4 * 36, 0.5f),
      w_data(8 * 4 * 9, 0.25f),
      y_data(8 * 36),
      other_data(8 * 36, -1.5f),
      channel_data(8, 2.0f) {
  EXPECT_TRUE(ok(fuseplanCreateActivationDescriptor(&activation)));
  EXPECT_TRUE(
      ok(fuseplanSetActivationDescriptor(activation, fuseplanActivationRELU, 0.0, 0.0, 0.0)));
  EXPECT_TRUE(ok(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, x)));
  EXPECT_TRUE(ok(fuseplanCreateOpConvForward(plan, &conv_op, convolution, w)));
  EXPECT_TRUE(ok(fuseplanCreateOpBiasForward(plan, &bias_op, channel)));
  EXPECT_TRUE(ok(fuseplanCreateOpBatchNormInference(plan, &norm_op, fuseplanBNSpatial, channel)));
  EXPECT_TRUE(ok(fuseplanCreateOpActivationForward(plan, &activation_op, fuseplanActivationRELU)));
  EXPECT_TRUE(ok(fuseplanCreateOpTensorAdd(plan, &add_op, y)));
  EXPECT_TRUE(ok(fuseplanCreateOpScaleShift(plan, &scale_op, channel)));
  EXPECT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
  const float* c = channel_data.data();
  EXPECT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  EXPECT_TRUE(ok(fuseplanSetOpArgsConvForward(args, conv_op, nullptr, nullptr, w_data.data())));
  EXPECT_TRUE(ok(fuseplanSetOpArgsBiasForward(args, bias_op, nullptr, nullptr, c)));
  EXPECT_TRUE(
      ok(fuseplanSetOpArgsBatchNormInference(args, norm_op, nullptr, nullptr, c, c, c, c, 1e-5)));
  EXPECT_TRUE(ok(fuseplanSetOpArgsActivForward(args, activation_op, nullptr, nullptr, 0, 0, 0)));
  EXPECT_TRUE(
      ok(fuseplanSetOpArgsTensorAdd(args, add_op, nullptr, nullptr, other_data.data(), 1.0)));
  EXPECT_TRUE(ok(fuseplanSetOpArgsScaleShift(args, scale_op, nullptr, nullptr, c, c)));
}

LargeWorld::LargeWorld()
    : handle(make_handle("--cache=mem")),
      desc(make_tensor({4, 64, 64, 64})),
      plan(make_plan("f32:4x64x64x64:nchw;activation(relu)")),
      input(4 * 64 * 64 * 64),
      output(input.size()) {
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 11) - 5;
  fuseplanOp_t op;
  EXPECT_TRUE(ok(fuseplanPlanGetOp(plan, 0, &op)));
  EXPECT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  EXPECT_TRUE(ok(fuseplanSetOpArgsActivForward(args, op, nullptr, nullptr, 0, 0, 0)));
  EXPECT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
  EXPECT_TRUE(ok(fuseplanSetThreadCount(handle, 4)));
}

fuseplanStatus_t LargeWorld::execute() {
  return fuseplanExecutePlan(handle, plan, desc, input.data(), desc, output.data(), args);
}

}  // namespace fuseplan::test
