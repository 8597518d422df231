// SPDX-License-Identifier: MIT
// A program that takes every liberty: descriptors are gone before Compile, arguments are set before
// it, through pointers to scalars that are gone as well; one arguments object serves plans of three
// lengths; one plan runs on two handles; ops are fetched again by number; the handle goes first.
#include "client.hpp"

using namespace fuseplan::test;

namespace {

struct Data {
  Data()
      : x(Element::f32, {2, 6, 10, 10}, channels_last({2, 6, 10, 10})),
        w(Element::f32, {8, 6, 3, 3}, channels_last({8, 6, 3, 3})),
        b(Element::f32, {1, 8, 1, 1}),
        z(Element::f32, {2, 8, 10, 10}, channels_last({2, 8, 10, 10})) {
    Random random;
    for (HostTensor* tensor : {&x, &w, &b, &z}) random.fill(*tensor);
  }
  Step conv() const { return {Convolution{&w, {1, 1}, {1, 1}, {1, 1}, {1, 1}}}; }
  HostTensor x, w, b, z;
};

/// conv, then `rest` of "b" (bias), "z" (a residual as a bias op), "a" (RELU). No descriptor is
/// left when it returns.
miopenFusionPlanDescriptor_t make_plan(const Data& data, std::string_view rest) {
  const auto x = new_desc(data.x), w = new_desc(data.w), z = new_desc(data.z);
  miopenTensorDescriptor_t b;  // of the input's channels, by mistake
  miopenConvolutionDescriptor_t conv;
  miopenFusionPlanDescriptor_t plan;
  miopenFusionOpDescriptor_t op;
  const bool has_residual = rest.find('z') != rest.npos;
  CLIENT_CHECK(miopenCreateTensorDescriptor(&b));
  CLIENT_CHECK(miopenSet4dTensorDescriptor(b, miopenFloat, 1, has_residual ? 8 : 6, 1, 1));
  CLIENT_CHECK(miopenCreateConvolutionDescriptor(&conv));
  CLIENT_CHECK(miopenInitConvolutionDescriptor(conv, miopenConvolution, 1, 1, 1, 1, 1, 1));
  CLIENT_CHECK(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CLIENT_CHECK(miopenCreateOpConvForward(plan, &op, conv, w));
  for (const char kind : rest)
    CLIENT_CHECK(kind == 'a' ? miopenCreateOpActivationForward(plan, &op, miopenActivationRELU)
                             : miopenCreateOpBiasForward(plan, &op, kind == 'z' ? z : b));
  for (const auto desc : {x, w, z, b}) CLIENT_CHECK(miopenDestroyTensorDescriptor(desc));
  CLIENT_CHECK(miopenDestroyConvolutionDescriptor(conv));
  return plan;
}

/// Ops by their numbers, scalars on a stack that is gone when the plan runs.
void set_args(miopenOperatorArgs_t args, miopenFusionPlanDescriptor_t plan, const Data& data,
              std::string_view rest) {
  double wrong_type = 1.0;  // read as a float, it would be 0
  miopenFusionOpDescriptor_t op;
  CLIENT_CHECK(miopenFusionPlanGetOp(plan, 0, &op));
  CLIENT_CHECK(miopenSetOpArgsConvForward(args, op, &wrong_type, &wrong_type, data.w.data()));
  for (std::size_t i = 0; i < rest.size(); ++i) {
    CLIENT_CHECK(miopenFusionPlanGetOp(plan, static_cast<int>(i) + 1, &op));
    CLIENT_CHECK(rest[i] == 'a'
                     ? miopenSetOpArgsActivForward(args, op, &wrong_type, nullptr, 0, 0, 0)
                     : miopenSetOpArgsBiasForward(args, op, nullptr, &wrong_type,
                                                  rest[i] == 'z' ? data.z.data() : data.b.data()));
  }
  wrong_type = -3;
}

/// Op by op, for where nothing compiles.
void run_separately(miopenHandle_t handle, const Data& data, std::string_view rest, HostTensor& y) {
  const auto x = new_desc(data.x), w = new_desc(data.w), b = new_desc(data.b), z = new_desc(data.z),
             y_desc = new_desc(y);
  miopenConvolutionDescriptor_t conv;
  miopenActivationDescriptor_t act;
  const float one = 1;
  CLIENT_CHECK(miopenCreateConvolutionDescriptor(&conv));
  CLIENT_CHECK(miopenInitConvolutionDescriptor(conv, miopenConvolution, 1, 1, 1, 1, 1, 1));
  CLIENT_CHECK(miopenCreateActivationDescriptor(&act));
  CLIENT_CHECK(miopenSetActivationDescriptor(act, miopenActivationRELU, 0, 0, 0));
  CLIENT_CHECK(miopenConvolutionForward(handle, nullptr, x, data.x.data(), w, data.w.data(), conv,
                                        miopenConvolutionFwdAlgoGEMM, nullptr, y_desc, y.data(),
                                        nullptr, 0));
  for (const char kind : rest)
    if (kind == 'a')
      CLIENT_CHECK(
          miopenActivationForward(handle, act, &one, y_desc, y.data(), nullptr, y_desc, y.data()));
    else
      CLIENT_CHECK(miopenOpTensor(handle, miopenTensorOpAdd, &one, y_desc, y.data(), &one,
                                  kind == 'z' ? z : b, kind == 'z' ? data.z.data() : data.b.data(),
                                  nullptr, y_desc, y.data()));
  for (const auto desc : {x, w, b, z, y_desc}) CLIENT_CHECK(miopenDestroyTensorDescriptor(desc));
  CLIENT_CHECK(miopenDestroyConvolutionDescriptor(conv));
  CLIENT_CHECK(miopenDestroyActivationDescriptor(act));
  ++counts.separate;
}

void run(miopenHandle_t handle, miopenFusionPlanDescriptor_t plan, miopenOperatorArgs_t args,
         const Data& data, std::string_view rest) {
  HostTensor y = data.z.like();
  const auto x_desc = new_desc(data.x), y_desc = new_desc(y);
  const miopenStatus_t compiled = miopenCompileFusionPlan(handle, plan);
  CLIENT_EXPECT(compiled == (refusing() ? miopenStatusUnsupportedOp : miopenStatusSuccess));
  counts.compiled += compiled == miopenStatusSuccess;
  // Compile's answer is not looked at: Execute refuses by itself what is not compiled.
  const miopenStatus_t status =
      miopenExecuteFusionPlan(handle, plan, x_desc, data.x.data(), y_desc, y.data(), args);
  if (status == miopenStatusSuccess)
    ++counts.fused;
  else
    run_separately(handle, data, rest, y);
  std::vector<Step> steps{data.conv()};
  for (const char kind : rest) {
    if (kind == 'b') steps.push_back({Bias{&data.b}});
    if (kind == 'z') steps.push_back({Add{&data.z}});
    if (kind == 'a') steps.push_back({Activation{Mode::RELU}});
  }
  expect_right(y, run_reference(data.x, steps), std::string(rest).c_str());
  for (const auto desc : {x_desc, y_desc}) CLIENT_CHECK(miopenDestroyTensorDescriptor(desc));
}

}  // namespace

int main() {
  const Data data;
  miopenHandle_t first, second;
  miopenOperatorArgs_t args;
  CLIENT_CHECK(miopenCreate(&first));
  CLIENT_CHECK(miopenCreate(&second));
  CLIENT_CHECK(miopenCreateOperatorArgs(&args));
  std::vector<miopenFusionPlanDescriptor_t> plans;
  for (const std::string_view rest : {"zba", "ba", "a", "bza", "ba"}) {
    plans.push_back(make_plan(data, rest));
    set_args(args, plans.back(), data, rest);
    run(first, plans.back(), args, data, rest);
    run(second, plans.back(), args, data, rest);
    run(first, plans.back(), args, data, rest);
  }
  CLIENT_CHECK(miopenDestroy(first));
  CLIENT_CHECK(miopenDestroyOperatorArgs(args));
  for (const auto plan : plans) CLIENT_CHECK(miopenDestroyFusionPlan(plan));
  CLIENT_CHECK(miopenDestroy(second));
  return report("careless", 15, 15);
}
