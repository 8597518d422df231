// SPDX-License-Identifier: MIT
// What MIOpen's clients lean on: lifetimes, sharing, and when what fails.
#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

#include "world.hpp"

namespace fuseplan::test {
namespace {

// 5. Descriptors are copied at creation.
TEST(Rules, DescriptorsMayGoRightAfterCreation) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  std::optional<FusionPlan> plan;
  {
    TensorDesc x = describe(all.x), w = describe(all.w), b = describe(all.b);
    ConvDesc conv = convolution({1, 1});
    plan.emplace(miopenVerticalFusion, x);
    plan->conv(conv, w);
    plan->bias(b);
    plan->act(miopenActivationRELU);
    // Other lengths and another stride, to show in the result if anybody still looked.
    ASSERT_TRUE(ok(miopenSet4dTensorDescriptor(x, miopenHalf, 1, 1, 1, 1)));
    ASSERT_TRUE(ok(miopenSet4dTensorDescriptor(w, miopenHalf, 1, 1, 1, 1)));
    ASSERT_TRUE(ok(miopenInitConvolutionDescriptor(conv, miopenConvolution, 0, 0, 3, 3, 1, 1)));
  }
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, *plan)));
  ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, *plan, all.x_desc, all.x.data(), all.y_desc,
                                         all.y.data(), all.args)));
  EXPECT_TRUE(all.right());
}

// 6. Arguments before and after compiling, once for many executions.
TEST(Rules, ArgumentsBeforeAndAfterCompile) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);  // sets its arguments before
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ok(all.execute(handle)));
    EXPECT_TRUE(all.right());
  }
  // Afterwards, with other pointers, and with other values behind the same pointers.
  HostTensor other = random_tensor(Element::f32, {1, 10, 1, 1}, random);
  std::swap(all.b, other);
  all.set_args(all.args);
  ASSERT_TRUE(ok(all.execute(handle)));
  EXPECT_TRUE(all.right());
  random.fill(all.w);
  random.fill(all.b);
  random.fill(all.x);
  ASSERT_TRUE(ok(all.execute(handle)));
  EXPECT_TRUE(all.right());
}

// 7. Arguments are kept by op number.
TEST(Rules, OneArgsObjectServesPlansOfDifferentLength) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  {
    ConvBiasAct gone(random, Element::f32, false, 3, 4);
    gone.set_args(all.args);
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, gone.plan)));
    ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, gone.plan, gone.x_desc, gone.x.data(),
                                           gone.y_desc, gone.y.data(), all.args)));
    EXPECT_TRUE(gone.right());
  }
  // Two ops now: the third entry is stale, the first two are overwritten.
  FusionPlan two(all.x);
  const auto conv = two.conv(all.conv_desc, all.w_desc), bias = two.bias(all.b_desc);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, two)));
  ASSERT_TRUE(ok(miopenSetOpArgsConvForward(all.args, conv, nullptr, nullptr, all.w.data())));
  ASSERT_TRUE(ok(miopenSetOpArgsBiasForward(all.args, bias, nullptr, nullptr, all.b.data())));
  ASSERT_TRUE(ok(miopenExecuteFusionPlan(handle, two, all.x_desc, all.x.data(), all.y_desc,
                                         all.y.data(), all.args)));
  EXPECT_TRUE(is_close(
      all.y,
      run_reference(all.x, std::vector<Step>{{Convolution{&all.w, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
                                             {Bias{&all.b}}})));
  // A plan with another kind at number 1 does not take the bias for it.
  FusionPlan other(all.x);
  other.conv(all.conv_desc, all.w_desc);
  other.act(miopenActivationRELU);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, other)));
  EXPECT_TRUE(refused(miopenExecuteFusionPlan(handle, other, all.x_desc, all.x.data(), all.y_desc,
                                              all.y.data(), all.args),
                      miopenStatusBadParm, "op 1"));
}

// 8. One plan, several handles, several threads.
TEST(Rules, PlansAreShared) {
  Random random;
  Handle handles[3];
  ConvBiasAct all(random);
  const ReferenceResult expected = all.expected();
  for (const Handle& handle : handles) {
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));  // nothing to do
  }
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      // Each with arguments, output and bias of its own.
      OpArgs args;
      HostTensor y = all.y.like(), b = all.b;
      all.set_args(args);
      if (miopenSetOpArgsBiasForward(args, all.plan.op(1), nullptr, nullptr, b.data()) != 0) return;
      for (int i = 0; i < 20; ++i)
        if (miopenExecuteFusionPlan(handles[t % 3], all.plan, all.x_desc, all.x.data(), all.y_desc,
                                    y.data(), args) != miopenStatusSuccess)
          return;
      right += compare(y, expected).ok();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
}

// 9. Execute looks before it runs.
TEST(Rules, ExecuteRefusesWhatIsNotThePlans) {
  Random random;
  Handle handle, other;
  ConvBiasAct all(random);
  EXPECT_TRUE(refused(all.execute(handle), miopenStatusBadParm, "not compiled"));
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  EXPECT_TRUE(refused(all.execute(other), miopenStatusBadParm, "not compiled"));
  const auto run = [&](miopenTensorDescriptor_t in, miopenTensorDescriptor_t out) {
    return miopenExecuteFusionPlan(handle, all.plan, in, all.x.data(), out, all.y.data(), all.args);
  };
  ASSERT_TRUE(ok(run(all.x_desc, all.y_desc)));
  const TensorDesc type = describe(miopenHalf, {2, 6, 9, 11}),
                   lens = describe(miopenFloat, {1, 6, 9, 11}),
                   strides = describe(miopenFloat, {2, 6, 9, 11}, {594, 1, 66, 6}),
                   rank = describe(miopenFloat, {2, 6, 99});
  for (const auto desc : {miopenTensorDescriptor_t(type), miopenTensorDescriptor_t(lens),
                          miopenTensorDescriptor_t(strides), miopenTensorDescriptor_t(rank)})
    EXPECT_TRUE(refused(run(desc, all.y_desc), miopenStatusBadParm, "inputDesc"));
  EXPECT_TRUE(refused(run(all.x_desc, all.x_desc), miopenStatusBadParm, "outputDesc"));
  EXPECT_TRUE(refused(run(nullptr, all.y_desc), miopenStatusBadParm, "inputDesc"));
  // Appended to after Compile: what runs would not be what was asked.
  all.plan.act(miopenActivationABS);
  EXPECT_TRUE(refused(all.execute(handle), miopenStatusBadParm, "appended"));
}

TEST(Rules, ArgumentsThatWereNeverSetAreNamed) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  const auto run = [&](miopenOperatorArgs_t args) {
    return miopenExecuteFusionPlan(handle, all.plan, all.x_desc, all.x.data(), all.y_desc,
                                   all.y.data(), args);
  };
  OpArgs empty;
  EXPECT_TRUE(refused(run(empty), miopenStatusBadParm, "op 0 (convolution)"));
  EXPECT_TRUE(refused(run(nullptr), miopenStatusBadParm, "args is NULL"));
  ASSERT_TRUE(ok(miopenSetOpArgsBiasForward(all.args, all.plan.op(1), nullptr, nullptr, nullptr)));
  EXPECT_TRUE(refused(run(all.args), miopenStatusBadParm, "op 1 (bias)"));
  EXPECT_TRUE(
      refused(miopenSetOpArgsBiasForward(all.args, all.plan.op(2), nullptr, nullptr, all.b.data()),
              miopenStatusBadParm, "op 2"));
}

// 12. Plans outlive handles, and main.
TEST(Rules, APlanMayBeDestroyedAfterItsHandle) {
  Random random;
  ConvBiasAct all(random);
  {
    Handle handle;
    ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
    ASSERT_TRUE(ok(all.execute(handle)));
  }
  Handle next;  // and be compiled for the next one
  ASSERT_TRUE(ok(miopenCompileFusionPlan(next, all.plan)));
  ASSERT_TRUE(ok(all.execute(next)));
  EXPECT_TRUE(all.right());
}

// A cached plan that a program never destroys before its static objects go; its handle goes first.
struct DestroyedAtExit {
  miopenHandle_t handle = nullptr;
  miopenFusionPlanDescriptor_t plan = nullptr;
  ~DestroyedAtExit() {
    if (miopenDestroy(handle) != miopenStatusSuccess ||
        miopenDestroyFusionPlan(plan) != miopenStatusSuccess)
      std::_Exit(EXIT_FAILURE);
  }
};
DestroyedAtExit at_exit;  // before main, and so after everything that the library made since

TEST(Rules, StaticDestructorsMayDestroyPlans) {
  const TensorDesc x = describe(miopenFloat, {1, 2, 3, 4});
  miopenFusionOpDescriptor_t op;
  ASSERT_TRUE(ok(miopenCreate(&at_exit.handle)));
  ASSERT_TRUE(ok(miopenCreateFusionPlan(&at_exit.plan, miopenVerticalFusion, x)));
  ASSERT_TRUE(ok(miopenCreateOpActivationForward(at_exit.plan, &op, miopenActivationRELU)));
  ASSERT_TRUE(ok(miopenCompileFusionPlan(at_exit.handle, at_exit.plan)));
}

// "Also seen": plans made anew for each call, and args that are never destroyed.
TEST(Rules, MakingAPlanForEachCallIsCheap) {
  Random random;
  Handle handle;
  const HostTensor x = random_tensor(Element::f32, {1, 4, 8, 8}, random);
  HostTensor y = x.like();
  const TensorDesc desc = describe(x);
  for (int i = 0; i < 500; ++i) {
    FusionPlan plan(x);
    OpArgs args;
    const auto op = plan.act(miopenActivationRELU);
    ASSERT_EQ(miopenCompileFusionPlan(handle, plan), miopenStatusSuccess);
    ASSERT_EQ(miopenSetOpArgsActivForward(args, op, nullptr, nullptr, 0, 0, 0), 0);
    ASSERT_EQ(miopenExecuteFusionPlan(handle, plan, desc, x.data(), desc, y.data(), args), 0);
  }
  EXPECT_TRUE(is_close(y, run_reference(x, std::vector<Step>{{Activation{Mode::RELU}}})));
}

}  // namespace
}  // namespace fuseplan::test
