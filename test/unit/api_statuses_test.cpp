// SPDX-License-Identifier: MIT
// Every status that can come from a CPU, and what becomes of exceptions, threads and messages.
#include <atomic>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>

#include "api_world.hpp"

namespace fuseplan::test {
namespace {

fuseplanStatus_t execute(const World& o) {
  return fuseplanExecutePlan(o.handle, o.plan, o.x, o.x_data.data(), o.y,
                             const_cast<float*>(o.y_data.data()), o.args);
}

/// What an exception from inside an execution becomes.
template <typename Exception>
fuseplanStatus_t status_of_exception() {
  LargeWorld o;
  const auto loop = [](void*, int, fuseplanParallelTask_t, void*) { throw Exception(); };
  EXPECT_TRUE(ok(fuseplanSetParallelFor(o.handle, loop, nullptr)));
  const fuseplanStatus_t status = o.execute();
  EXPECT_TRUE(ok(fuseplanSetParallelFor(o.handle, nullptr, nullptr)));
  EXPECT_TRUE(ok(o.execute())) << "the next call must work";
  return status;
}
struct Unusual : std::exception {
  const char* what() const noexcept override { return "an unusual thing"; }
};

TEST(Statuses, OfExceptions) {
  EXPECT_EQ(status_of_exception<Unusual>(), fuseplanStatusInternalError);
  EXPECT_EQ(status_of_exception<std::bad_alloc>(), fuseplanStatusAllocFailed);
  EXPECT_EQ(status_of_exception<int>(), fuseplanStatusUnknownError);
}

TEST(Statuses, OfFailedAllocations) {
  World o;
  void* memory = nullptr;
  EXPECT_TRUE(refused(fuseplanMalloc(o.handle, ~std::size_t{0}, &memory), fuseplanStatusAllocFailed,
                      "cannot allocate"));
  EXPECT_EQ(memory, nullptr);
  const auto nothing = [](void*, std::size_t) -> void* { return nullptr; };
  EXPECT_TRUE(ok(fuseplanSetAllocator(
      o.handle, nothing, [](void*, void*) {}, nullptr)));
  EXPECT_TRUE(refused(execute(o), fuseplanStatusAllocFailed, "allocat"));
  EXPECT_TRUE(ok(fuseplanSetAllocator(o.handle, nullptr, nullptr, nullptr)));
  EXPECT_TRUE(ok(execute(o)));
}

TEST(Statuses, OfHandles) {
  fuseplanHandle_t handle = nullptr;
  EXPECT_TRUE(
      refused(fuseplanCreateForDevice(&handle, "vulkan:0"), fuseplanStatusInvalidValue, "vulkan"));
  EXPECT_TRUE(refused(fuseplanCreateForDevice(&handle, ""), fuseplanStatusBadParm,
                      "device is empty, expected a name"));
  EXPECT_TRUE(refused(fuseplanCreateWithStream(&handle, &handle), fuseplanStatusBadParm, "stream"));
  EXPECT_EQ(handle, nullptr) << "outputs of failed calls are not touched";
  World o;
  EXPECT_TRUE(refused(fuseplanSetStream(o.handle, &handle), fuseplanStatusBadParm, "streamID"));
  EXPECT_TRUE(refused(fuseplanSetThreadCount(o.handle, -1), fuseplanStatusBadParm, "-1"));
  float time = 0;
  EXPECT_TRUE(refused(fuseplanGetKernelTime(o.handle, &time), fuseplanStatusBadParm,
                      "fuseplanEnableProfiling"));
  const auto options = [&] {
    return text_of(
        [&](char* text, std::size_t* size) { return fuseplanGetOptions(o.handle, text, size); });
  };
  const std::string before = options();
  EXPECT_TRUE(refused(fuseplanSetOptions(o.handle, "--max_isa=avx2 --disable_pas=cse"),
                      fuseplanStatusBadOption, "disable_pass"));
  EXPECT_EQ(options(), before) << "a string with a mistake changes nothing";
  EXPECT_TRUE(refused(fuseplanSetLogLevel(static_cast<fuseplanLogLevel_t>(8)),
                      fuseplanStatusInvalidValue, "level is 8"));
  char a, b;
  EXPECT_TRUE(refused(fuseplanCopy(o.handle, &a, &b, 1, static_cast<fuseplanCopyDirection_t>(3)),
                      fuseplanStatusInvalidValue, "direction is 3"));
}

TEST(Statuses, OfPlans) {
  World o;
  fuseplanPlan_t plan = nullptr;
  EXPECT_TRUE(refused(fuseplanCreatePlan(&plan, fuseplanHorizontalFusion, o.x),
                      fuseplanStatusUnsupportedOp, "fuseplanHorizontalFusion"));
  EXPECT_TRUE(refused(
      fuseplanCreatePlan(&plan, fuseplanVerticalFusion, make_tensor({1, 2, 3, 4}, fuseplanInt64)),
      fuseplanStatusBadParm, "i64"));
  EXPECT_EQ(plan, nullptr);
  PlanPtr empty;
  ASSERT_TRUE(ok(fuseplanCreatePlan(&empty, fuseplanVerticalFusion, o.x)));
  EXPECT_TRUE(refused(fuseplanCompilePlan(o.handle, empty), fuseplanStatusUnsupportedOp, "empty"));
  fuseplanOp_t op = nullptr;
  EXPECT_TRUE(refused(fuseplanPlanGetOp(empty, 0, &op), fuseplanStatusBadParm, "no op yet"));
  EXPECT_TRUE(refused(fuseplanPlanGetOpOutputDescriptor(empty, 0, o.y), fuseplanStatusBadParm,
                      "no op yet"));
  EXPECT_TRUE(refused(fuseplanCreateOpStatistics(o.plan, &op, o.x), fuseplanStatusBadParm,
                      "tensor of statistics is 1x4x6x6"));
  EXPECT_TRUE(refused(fuseplanCreateOpBiasForward(empty, &op, o.channel), fuseplanStatusBadParm,
                      "expected 1x4x1x1"));
  EXPECT_TRUE(refused(fuseplanCreateOpConvForward(o.plan, &op, o.convolution, o.w),
                      fuseplanStatusUnsupportedOp, "first"));
  int count = -1;
  ASSERT_TRUE(ok(fuseplanPlanGetOpCount(empty, &count)));
  EXPECT_EQ(count, 0) << "a refused op leaves the plan as it was";
  EXPECT_TRUE(refused(fuseplanPlanGetOp(o.plan, 6, &op), fuseplanStatusBadParm, "op index 6"));
  EXPECT_TRUE(refused(fuseplanPlanGetOp(o.plan, -1, &op), fuseplanStatusBadParm, "op index -1"));
  EXPECT_TRUE(refused(fuseplanPlanSetDynamicDims(o.plan, 16), fuseplanStatusInvalidValue, "0x10"));
  EXPECT_TRUE(refused(fuseplanPlanSetDynamicDims(o.plan, fuseplanDimDepth), fuseplanStatusBadParm,
                      "depth"));
  EXPECT_TRUE(refused(fuseplanPlanSetSolver(o.plan, "cpu_portabel"), fuseplanStatusInvalidValue,
                      "cpu_portable"));
  EXPECT_TRUE(
      refused(fuseplanPlanConvolutionSetAlgo(o.plan, static_cast<fuseplanConvFwdAlgorithm_t>(4)),
              fuseplanStatusInvalidValue, "algo is 4"));
  EXPECT_TRUE(refused(fuseplanCreatePlanFromString(&plan, "f32:1x2x3x4:nchw;relu()"),
                      fuseplanStatusInvalidValue, "relu"));
  EXPECT_TRUE(refused(fuseplanCreatePlanFromString(&plan, "f32:1x4x8x8->f32:1x4x8x8"),
                      fuseplanStatusBadParm, "the text has an output but no op"));
  EXPECT_TRUE(refused(fuseplanPlanSetOutputDescriptor(o.plan, o.x), fuseplanStatusBadParm,
                      "expected 1x8x6x6"));
  const TensorPtr heap = make_tensor({1});
  ASSERT_TRUE(ok(fuseplanSet4dTensorDescriptorEx(heap, fuseplanFloat, 1, 8, 6, 6, 1, 1, 1, 1)));
  EXPECT_TRUE(refused(fuseplanPlanSetOutputDescriptor(o.plan, heap), fuseplanStatusBadParm,
                      "elements that share memory"));
  ASSERT_TRUE(ok(fuseplanCompilePlan(o.handle, o.plan))) << "a refused output is not kept";
}

TEST(Statuses, OfExecutions) {
  World o;
  float* y = o.y_data.data();
  ASSERT_TRUE(ok(execute(o)));
  EXPECT_TRUE(
      refused(fuseplanExecutePlan(o.handle, o.plan, make_tensor({1, 4, 6, 7}), y, o.y, y, o.args),
              fuseplanStatusBadParm, "1x4x6x7"));
  EXPECT_TRUE(refused(fuseplanExecutePlan(o.handle, o.plan, make_tensor({1, 4, 6, 6}, fuseplanHalf),
                                          y, o.y, y, o.args),
                      fuseplanStatusBadParm, "f16"));
  EXPECT_TRUE(refused(
      fuseplanExecutePlan(o.handle, o.plan, o.x, o.x_data.data(),
                          make_tensor({1, 8, 6, 6}, fuseplanFloat, fuseplanTensorNHWC), y, o.args),
      fuseplanStatusBadParm, "nhwc"));
  EXPECT_TRUE(refused(
      fuseplanExecutePlan_v2(o.handle, o.plan, o.x, o.x_data.data(), o.y, y, o.args, nullptr, 1),
      fuseplanStatusBadParm, "workspace is NULL"));
  const float half = 0.5f;
  ASSERT_TRUE(ok(fuseplanSetOpArgsBiasForward(o.args, o.bias_op, nullptr, &half, y)));
  EXPECT_TRUE(refused(execute(o), fuseplanStatusBadParm, "op 1 (bias) has beta"));
  ArgsPtr none;
  ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&none)));
  EXPECT_TRUE(refused(fuseplanExecutePlan(o.handle, o.plan, o.x, o.x_data.data(), o.y, y, none),
                      fuseplanStatusBadParm, "op 0 (conv): its arguments were never set"));
  EXPECT_TRUE(refused(fuseplanSetOpArgsBiasForward(o.args, o.conv_op, nullptr, nullptr, y),
                      fuseplanStatusBadParm, "biasOp is of kind conv, expected bias"));
  EXPECT_TRUE(refused(
      fuseplanSetOpArgsBatchNormInference(o.args, o.norm_op, nullptr, nullptr, y, y, y, y, -1.0),
      fuseplanStatusInvalidValue, "epsilon is -1"));
  EXPECT_TRUE(refused(fuseplanSetArgsFlags(o.args, 2), fuseplanStatusInvalidValue, "flags is 0x2"));
}

TEST(Statuses, HaveNames) {
  EXPECT_STREQ(fuseplanGetErrorString(fuseplanStatusSuccess), "fuseplanStatusSuccess");
  EXPECT_STREQ(fuseplanGetErrorString(fuseplanStatusNotCompiled), "fuseplanStatusNotCompiled");
  EXPECT_STREQ(fuseplanGetErrorString(static_cast<fuseplanStatus_t>(11)), "Unknown error status");
  EXPECT_STREQ(fuseplanGetErrorString(static_cast<fuseplanStatus_t>(-1)), "Unknown error status");
}

TEST(Messages, BelongToTheThread) {
  int count = 0;
  EXPECT_EQ(fuseplanPlanGetOpCount(nullptr, &count), fuseplanStatusBadParm);
  const std::string before = fuseplanGetLastErrorMessage();
  std::thread([] {
    EXPECT_STREQ(fuseplanGetLastErrorMessage(), "");
    EXPECT_EQ(fuseplanDestroy(nullptr), fuseplanStatusBadParm);
    EXPECT_STREQ(fuseplanGetLastErrorMessage(),
                 "fuseplanDestroy: handle is NULL, expected a fuseplanHandle_t");
  }).join();
  EXPECT_EQ(fuseplanGetLastErrorMessage(), before);
  EXPECT_TRUE(ok(fuseplanGetVersion(nullptr, nullptr, nullptr)));
  EXPECT_EQ(fuseplanGetLastErrorMessage(), before) << "success leaves the message";
}

TEST(Messages, AreCutWhenTheyAreLong) {
  fuseplanPlan_t plan = nullptr;
  const std::string text = "f32:1x2x3x4:nchw;" + std::string(100000, 'x') + "(relu)";
  EXPECT_EQ(fuseplanCreatePlanFromString(&plan, text.c_str()), fuseplanStatusInvalidValue);
  EXPECT_GT(std::strlen(fuseplanGetLastErrorMessage()), 1000u);
  EXPECT_LT(std::strlen(fuseplanGetLastErrorMessage()), 5000u);
}

TEST(Log, GoesToTheCallback) {
  std::string lines;
  const auto collect = [](void* context, fuseplanLogLevel_t, const char* line) {
    *static_cast<std::string*>(context) += std::string(line) + "\n";
  };
  ASSERT_TRUE(ok(fuseplanSetLogCallback(collect, &lines)));
  ASSERT_TRUE(ok(fuseplanSetLogLevel(fuseplanLogInfo)));
  EXPECT_EQ(fuseplanDestroy(nullptr), fuseplanStatusBadParm);
  ASSERT_TRUE(ok(fuseplanSetLogLevel(fuseplanLogQuiet)));
  EXPECT_EQ(fuseplanSynchronize(nullptr), fuseplanStatusBadParm);
  ASSERT_TRUE(ok(fuseplanSetLogLevel(fuseplanLogDefault)));
  ASSERT_TRUE(ok(fuseplanSetLogCallback(nullptr, nullptr)));
  EXPECT_NE(lines.find("fuseplan_api,fuseplanDestroy: handle is NULL"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("fuseplanSynchronize"), std::string::npos) << lines;
}

}  // namespace
}  // namespace fuseplan::test
