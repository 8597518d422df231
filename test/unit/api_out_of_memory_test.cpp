// SPDX-License-Identifier: MIT
// Every allocation of a plan's life fails once, alone and with all that follow it: each call says
// so or succeeds, what succeeds is right, nothing is lost, and afterwards all works.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "api_world.hpp"
#include "failing_memory/failing_memory.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

constexpr int kLength = 1 * 8 * 6 * 6;
constexpr const char* kText =
    "f32:1x8x6x6:nchw;conv(f32:8x8x3x3,pad=1x1);bias(f32:1x8x1x1);activation(relu)";

/// A plan's life, call by call. Weights and bias are ones, so an output inside the image is
/// 8 * 9 * x + 1.
class Life {
 public:
  explicit Life(const char* options) : options_(options) {
    std::fill(std::begin(x_), std::end(x_), 0.5f);
    std::fill(std::begin(y_), std::end(y_), -1.0f);
    std::fill(std::begin(ones_), std::end(ones_), 1.0f);
  }

  /// False where a call failed; then nothing after it was tried.
  bool live() {
    return said(fuseplanCreate(&handle_)) && said(fuseplanSetOptions(handle_, options_)) &&
           said(fuseplanSetThreadCount(handle_, 1)) &&
           said(fuseplanCreateTensorDescriptor(&desc_)) &&
           said(fuseplanCreatePlanFromString(&plan_, kText)) &&
           said(fuseplanPlanGetOutputDescriptor(plan_, desc_)) &&
           said(fuseplanQueryFusionSupport(handle_, plan_, &support_)) &&
           said(fuseplanPlanExplain(handle_, plan_, nullptr, &size_)) &&
           said(fuseplanCompilePlan(handle_, plan_)) && said(fuseplanCreateOperatorArgs(&args_)) &&
           set_arguments() &&
           said(fuseplanExecutePlan(handle_, plan_, desc_, x_, desc_, y_, args_));
  }
  /// Needs no memory.
  void end() {
    const auto destroy = [](auto object, auto function) {
      return object == nullptr ? fuseplanStatusSuccess : function(object);
    };
    EXPECT_EQ(destroy(args_, fuseplanDestroyOperatorArgs), fuseplanStatusSuccess);
    EXPECT_EQ(destroy(plan_, fuseplanDestroyPlan), fuseplanStatusSuccess);
    EXPECT_EQ(destroy(desc_, fuseplanDestroyTensorDescriptor), fuseplanStatusSuccess);
    EXPECT_EQ(destroy(handle_, fuseplanDestroy), fuseplanStatusSuccess);
  }
  int status() const { return status_; }
  float inner() const { return y_[7]; }

 private:
  bool said(fuseplanStatus_t status) {
    status_ = status;
    return status == fuseplanStatusSuccess;
  }
  bool set_arguments() {
    fuseplanOp_t conv, bias, relu;
    return said(fuseplanPlanGetOp(plan_, 0, &conv)) && said(fuseplanPlanGetOp(plan_, 1, &bias)) &&
           said(fuseplanPlanGetOp(plan_, 2, &relu)) &&
           said(fuseplanSetOpArgsConvForward(args_, conv, nullptr, nullptr, ones_)) &&
           said(fuseplanSetOpArgsBiasForward(args_, bias, nullptr, nullptr, ones_)) &&
           said(fuseplanSetOpArgsActivForward(args_, relu, nullptr, nullptr, 0, 0, 0));
  }

  const char* options_;
  fuseplanHandle_t handle_ = nullptr;
  fuseplanTensorDescriptor_t desc_ = nullptr;
  fuseplanPlan_t plan_ = nullptr;
  fuseplanOperatorArgs_t args_ = nullptr;
  fuseplanFusionSupport_t support_ = sized<fuseplanFusionSupport_t>();
  std::size_t size_ = 0;
  int status_ = 0;
  float x_[kLength], y_[kLength], ones_[8 * 8 * 9];
};

constexpr float kInner = 8 * 9 * 0.5f + 1;

/// Whether the allocation was reached.
bool survives_failure(const char* options, long number, bool stays) {
  Life life(options);
  trap = {number, stays, false};
  const bool lived = life.live();
  life.end();
  const bool sprung = trap.sprung;
  trap = {};
  if (lived) {
    EXPECT_EQ(life.inner(), kInner) << "allocation " << number;
  } else {
    EXPECT_EQ(life.status(), fuseplanStatusAllocFailed)
        << "allocation " << number << (stays ? " and all behind it: " : ": ")
        << fuseplanGetLastErrorMessage();
  }
  return sprung;
}

void expect_right(const char* options) {
  Life life(options);
  EXPECT_TRUE(life.live()) << fuseplanGetLastErrorMessage();
  EXPECT_EQ(life.inner(), kInner);
  life.end();
}

/// Fails allocation after allocation, `step` apart.
void expect_survival(const std::string& options, long step) {
  expect_right(options.c_str());
  const long before = living;
  int failures = 0;
  for (const bool stays : {false, true})
    for (long number = 0; survives_failure(options.c_str(), number, stays); number += step) {
      ++failures;
      if (::testing::Test::HasFailure()) return;
    }
  expect_right(options.c_str());
  EXPECT_GT(failures, 100) << "there is more to a plan's life than that";
  EXPECT_LT(living - before, 64) << "of " << failures << " failures";
  std::printf("%d allocations failed, %ld more pieces of memory alive\n", failures,
              living - before);
}

TEST(OutOfMemory, AtAnyAllocation) { expect_survival("--cache=mem", 1); }

TEST(OutOfMemory, WithTheCacheOnDisk) {
  const TemporaryDirectory directory;
  expect_survival("--cache_dir=" + directory.path(), 5);
}

}  // namespace
}  // namespace fuseplan::test
