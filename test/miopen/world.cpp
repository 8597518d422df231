// SPDX-License-Identifier: MIT
#include "world.hpp"

namespace fuseplan::test {
namespace {

std::vector<int> ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

Dims strides_of(const Dims& dims, bool last) {
  return last ? channels_last(dims) : channels_first(dims);
}

}  // namespace

TensorDesc describe(miopenDataType_t type, const std::vector<int>& lens,
                    const std::vector<int>& strides) {
  TensorDesc desc;
  EXPECT_TRUE(ok(miopenSetTensorDescriptor(desc, type, static_cast<int>(lens.size()), lens.data(),
                                           strides.empty() ? nullptr : strides.data())));
  return desc;
}

TensorDesc describe(const HostTensor& tensor) {
  return describe(static_cast<miopenDataType_t>(tensor.type()), ints(tensor.dims()),
                  ints(tensor.strides()));
}

ConvDesc convolution(std::vector<int> pad, std::vector<int> stride, std::vector<int> dilation,
                     int groups) {
  ConvDesc desc;
  EXPECT_TRUE(
      ok(miopenInitConvolutionNdDescriptor(desc, static_cast<int>(pad.size()), pad.data(),
                                           stride.data(), dilation.data(), miopenConvolution)));
  EXPECT_TRUE(ok(miopenSetConvolutionGroupCount(desc, groups)));
  return desc;
}

ActivDesc activation(miopenActivationMode_t mode, double a, double b, double g) {
  ActivDesc desc;
  EXPECT_TRUE(ok(miopenSetActivationDescriptor(desc, mode, a, b, g)));
  return desc;
}

HostTensor random_tensor(Element type, const Dims& dims, const Dims& strides, Random& random,
                         double low, double high) {
  HostTensor tensor(type, dims, strides);
  random.fill(tensor, low, high);
  return tensor;
}

HostTensor random_tensor(Element type, const Dims& dims, Random& random, double low, double high) {
  return random_tensor(type, dims, channels_first(dims), random, low, high);
}

FusionPlan::FusionPlan(miopenFusionDirection_t direction, miopenTensorDescriptor_t input) {
  EXPECT_TRUE(ok(miopenCreateFusionPlan(&plan_, direction, input)));
}
FusionPlan::FusionPlan(const HostTensor& input, miopenFusionDirection_t direction)
    : FusionPlan(direction, describe(input)) {}
FusionPlan::~FusionPlan() { EXPECT_TRUE(ok(miopenDestroyFusionPlan(plan_))); }

miopenFusionOpDescriptor_t FusionPlan::op(int index) const {
  miopenFusionOpDescriptor_t op = nullptr;
  EXPECT_TRUE(ok(miopenFusionPlanGetOp(plan_, index, &op)));
  return op;
}

miopenFusionOpDescriptor_t FusionPlan::conv(miopenConvolutionDescriptor_t conv,
                                            miopenTensorDescriptor_t w) {
  miopenFusionOpDescriptor_t op = nullptr;
  EXPECT_TRUE(ok(miopenCreateOpConvForward(plan_, &op, conv, w)));
  return op;
}
miopenFusionOpDescriptor_t FusionPlan::bias(miopenTensorDescriptor_t b) {
  miopenFusionOpDescriptor_t op = nullptr;
  EXPECT_TRUE(ok(miopenCreateOpBiasForward(plan_, &op, b)));
  return op;
}
miopenFusionOpDescriptor_t FusionPlan::act(miopenActivationMode_t mode) {
  miopenFusionOpDescriptor_t op = nullptr;
  EXPECT_TRUE(ok(miopenCreateOpActivationForward(plan_, &op, mode)));
  return op;
}
miopenFusionOpDescriptor_t FusionPlan::norm(miopenBatchNormMode_t mode,
                                            miopenTensorDescriptor_t params) {
  miopenFusionOpDescriptor_t op = nullptr;
  EXPECT_TRUE(ok(miopenCreateOpBatchNormInference(plan_, &op, mode, params)));
  return op;
}

ConvBiasAct::ConvBiasAct(Random& random, Element type, bool channels_last, int channels,
                         int filters, int groups_)
    : x(random_tensor(type, {2, channels, 9, 11}, strides_of({2, channels, 9, 11}, channels_last),
                      random)),
      w(random_tensor(type, {filters, channels / groups_, 3, 3},
                      strides_of({filters, channels / groups_, 3, 3}, channels_last), random)),
      b(random_tensor(type, {1, filters, 1, 1}, random)),
      y(type, {2, filters, 9, 11}, strides_of({2, filters, 9, 11}, channels_last)),
      conv_desc(convolution({1, 1}, {1, 1}, {1, 1}, groups_)),
      x_desc(describe(x)),
      w_desc(describe(w)),
      b_desc(describe(b)),
      y_desc(describe(y)),
      groups(groups_),
      plan(x) {
  plan.conv(conv_desc, w_desc);
  plan.bias(b_desc);
  plan.act(mode);
  set_args(args);
}

void ConvBiasAct::set_args(miopenOperatorArgs_t to) const {
  EXPECT_TRUE(ok(miopenSetOpArgsConvForward(to, plan.op(0), nullptr, nullptr, w.data())));
  EXPECT_TRUE(ok(miopenSetOpArgsBiasForward(to, plan.op(1), nullptr, nullptr, b.data())));
  EXPECT_TRUE(
      ok(miopenSetOpArgsActivForward(to, plan.op(2), nullptr, nullptr, alpha, beta, gamma)));
}

miopenStatus_t ConvBiasAct::execute(miopenHandle_t handle) {
  y = y.like();
  return miopenExecuteFusionPlan(handle, plan, x_desc, x.data(), y_desc, y.data(), args);
}

ReferenceResult ConvBiasAct::expected() const {
  return run_reference(
      x, std::vector<Step>{{Convolution{&w, {1, 1}, {1, 1}, {1, 1}, {1, 1}, groups}},
                           {Bias{&b}},
                           {Activation{static_cast<Mode>(mode), alpha, beta, gamma}}});
}

}  // namespace fuseplan::test
