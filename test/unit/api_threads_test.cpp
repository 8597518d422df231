// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <thread>

#include "api_world.hpp"

namespace fuseplan::test {
namespace {

constexpr int kThreads = 8;

template <typename Body>
void in_threads(const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, ExecuteOnePlanWithTheirOwnArguments) {
  World o;
  std::atomic<int> wrong{0};
  in_threads([&](int thread) {
    const float scale = static_cast<float>(thread + 1);
    const std::vector<float> scales(8, scale), zeros(8, 0.0f);
    const float* c = o.channel_data.data();
    std::vector<float> y(o.y_data.size());
    ArgsPtr args;
    if (fuseplanCreateOperatorArgs(&args) != fuseplanStatusSuccess) ++wrong;
    (void)fuseplanSetOpArgsConvForward(args, o.conv_op, nullptr, nullptr, o.w_data.data());
    (void)fuseplanSetOpArgsBiasForward(args, o.bias_op, nullptr, nullptr, zeros.data());
    (void)fuseplanSetOpArgsBatchNormInference(args, o.norm_op, nullptr, nullptr, zeros.data(),
                                              scales.data(), c, c, 1e-5);
    (void)fuseplanSetOpArgsActivForward(args, o.activation_op, nullptr, nullptr, 0, 0, 0);
    (void)fuseplanSetOpArgsTensorAdd(args, o.add_op, nullptr, nullptr, o.other_data.data(), 0);
    (void)fuseplanSetOpArgsScaleShift(args, o.scale_op, nullptr, nullptr, scales.data(),
                                      zeros.data());
    for (int round = 0; round < 50; ++round) {
      if (fuseplanExecutePlan(o.handle, o.plan, o.x, o.x_data.data(), o.y, y.data(), args) !=
          fuseplanStatusSuccess)
        ++wrong;
      // norm gives 0 * (...) + scale, and the last op multiplies by scale again.
      if (std::any_of(y.begin(), y.end(), [&](float v) { return v != scale * scale; })) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, CompileOnePlanForManyHandles) {
  World o;
  std::atomic<int> wrong{0};
  in_threads([&](int) {
    for (int round = 0; round < 5; ++round) {
      fuseplanHandle_t handle = nullptr;
      std::vector<float> y(o.y_data.size());
      if (fuseplanCreate(&handle) || fuseplanSetOptions(handle, "--cache=mem") ||
          fuseplanCompilePlan(handle, o.plan) ||
          fuseplanExecutePlan(handle, o.plan, o.x, o.x_data.data(), o.y, y.data(), o.args) ||
          fuseplanDestroy(handle))
        ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, CompileForHandlesThatComeAndGoWhileOthersExecute) {
  World o;
  std::atomic<int> wrong{0}, running{kThreads - 1};
  in_threads([&](int thread) {
    if (thread == 0) {
      while (running > 0) {
        fuseplanHandle_t handle = nullptr;
        if (fuseplanCreate(&handle) || fuseplanSetOptions(handle, "--cache=mem") ||
            fuseplanCompilePlan(handle, o.plan) || fuseplanDestroy(handle))
          ++wrong;
      }
      return;
    }
    std::vector<float> y(o.y_data.size());
    for (int i = 0; i < 200; ++i)
      if (fuseplanExecutePlan(o.handle, o.plan, o.x, o.x_data.data(), o.y, y.data(), o.args))
        ++wrong;
    --running;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, MayDestroyWhatOthersUse) {
  std::atomic<long> used{0}, refused_calls{0}, wrong{0};
  for (int round = 0; round < 40; ++round) {
    World o;
    const fuseplanPlan_t plan = o.plan;
    in_threads([&](int thread) {
      if (thread == 0) {
        while (used.load() < (round + 1) * 20 && refused_calls == 0) std::this_thread::yield();
        o.plan.reset();
        return;
      }
      std::vector<float> y(o.y_data.size());
      for (int i = 0; i < 30; ++i) {
        const fuseplanStatus_t status =
            fuseplanExecutePlan(o.handle, plan, o.x, o.x_data.data(), o.y, y.data(), o.args);
        if (status == fuseplanStatusSuccess) ++used;
        if (status == fuseplanStatusBadParm) ++refused_calls;
        if (status != fuseplanStatusSuccess && status != fuseplanStatusBadParm) ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(used, 0);
  EXPECT_GT(refused_calls, 0);
}

TEST(Threads, CreateAndDestroyWithoutMixingUp) {
  std::atomic<int> wrong{0};
  in_threads([&](int thread) {
    std::vector<fuseplanTensorDescriptor_t> mine;
    for (int i = 0; i < 4000; ++i) {
      fuseplanTensorDescriptor_t tensor = nullptr;
      if (fuseplanCreateTensorDescriptor(&tensor) ||
          fuseplanSet4dTensorDescriptor(tensor, fuseplanFloat, 1, thread + 1, 1, 1))
        ++wrong;
      mine.push_back(tensor);
      if (mine.size() < 16) continue;
      std::size_t bytes = 0;
      if (fuseplanGetTensorNumBytes(mine.front(), &bytes) || bytes != 4u * (thread + 1)) ++wrong;
      if (fuseplanDestroyTensorDescriptor(mine.front())) ++wrong;
      if (fuseplanDestroyTensorDescriptor(mine.front()) != fuseplanStatusBadParm) ++wrong;
      mine.erase(mine.begin());
    }
    for (const auto tensor : mine)
      if (fuseplanDestroyTensorDescriptor(tensor)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, CallOneShotsOnOneHandle) {
  World o;
  std::atomic<int> wrong{0};
  const auto any = static_cast<fuseplanConvFwdAlgorithm_t>(-1);
  std::vector<float> expected(o.y_data.size());
  const auto call = [&](float* y) {
    return fuseplanConvolutionBiasActivationForward(
        o.handle, nullptr, o.x, o.x_data.data(), o.w, o.w_data.data(), o.convolution, any, nullptr,
        0, nullptr, nullptr, nullptr, o.channel, o.channel_data.data(), o.activation, o.y, y);
  };
  ASSERT_TRUE(ok(call(expected.data())));
  EXPECT_NE(expected[0], 0.0f);
  in_threads([&](int) {
    for (int round = 0; round < 30; ++round) {
      std::vector<float> y(o.y_data.size());
      if (call(y.data()) != fuseplanStatusSuccess || y != expected) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

struct Rounded {
  int mode;
  ~Rounded() { std::fesetround(mode); }
};

// A convolution with a function behind it, compiled and run under a rounding mode: 3x3 weights are
// transformed, 1x1 weights copied.
std::vector<float> result_of(const std::string& filter, int rounding, int threads) {
  const HandlePtr handle = make_handle("--cache=off");
  EXPECT_TRUE(ok(fuseplanSetThreadCount(handle, threads)));
  std::vector<float> x(2 * 32 * 28 * 28), w(32 * 32 * 9), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37f * static_cast<float>(i));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 0.1f * std::cos(0.11f * static_cast<float>(i));
  const TensorPtr desc = make_tensor({2, 32, 28, 28});
  const PlanPtr plan =
      make_plan("f32:2x32x28x28:nchw;conv(f32:32x32x" + filter + ");activation(tanh)");
  fuseplanOp_t conv, tanh;
  EXPECT_TRUE(ok(fuseplanPlanGetOp(plan, 0, &conv)));
  EXPECT_TRUE(ok(fuseplanPlanGetOp(plan, 1, &tanh)));
  ArgsPtr args;
  EXPECT_TRUE(ok(fuseplanCreateOperatorArgs(&args)));
  EXPECT_TRUE(ok(fuseplanSetOpArgsConvForward(args, conv, nullptr, nullptr, w.data())));
  EXPECT_TRUE(ok(fuseplanSetOpArgsActivForward(args, tanh, nullptr, nullptr, 1, 1, 0)));
  const Rounded back{std::fegetround()};
  std::fesetround(rounding);
  EXPECT_TRUE(ok(fuseplanCompilePlan(handle, plan)));
  EXPECT_TRUE(ok(fuseplanExecutePlan(handle, plan, desc, x.data(), desc, y.data(), args)));
  EXPECT_EQ(std::fegetround(), rounding);
  return y;
}

TEST(Threads, DoNotFollowTheCallersRounding) {
  for (const char* filter : {"3x3,pad=1x1", "1x1"}) {
    const std::vector<float> nearest = result_of(filter, FE_TONEAREST, 1);
    for (const int threads : {1, 2})
      EXPECT_EQ(result_of(filter, FE_UPWARD, threads), nearest) << filter << " in " << threads;
  }
}

TEST(ParallelFor, RunsTheCallersLoop) {
  LargeWorld o;
  ASSERT_TRUE(ok(o.execute()));
  const std::vector<float> expected = o.output;
  std::fill(o.output.begin(), o.output.end(), -1.0f);
  std::atomic<int> tasks{0};
  const auto backwards = [](void* context, int count, fuseplanParallelTask_t task, void* argument) {
    for (int i = count; i-- > 0;) {
      task(argument, i);
      ++*static_cast<std::atomic<int>*>(context);
    }
  };
  ASSERT_TRUE(ok(fuseplanSetParallelFor(o.handle, backwards, &tasks)));
  ASSERT_TRUE(ok(o.execute()));
  EXPECT_GT(tasks, 1);
  EXPECT_EQ(o.output, expected) << "results do not depend on threads, to the bit";
}

}  // namespace
}  // namespace fuseplan::test
