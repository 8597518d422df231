// SPDX-License-Identifier: MIT
// Sizes that a plan was not made with: what its other tensors are then taken for.
#include "api_world.hpp"

namespace fuseplan::test {
namespace {

constexpr int kAll = fuseplanDimBatch | fuseplanDimHeight | fuseplanDimWidth;

std::vector<float> counting(std::size_t count, int modulus) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(static_cast<int>(i) % modulus - modulus / 3);
  return values;
}

std::string dims(const std::vector<int>& lens) {
  std::string text;
  for (const int n : lens) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

std::size_t elements(const std::vector<int>& lens) {
  std::size_t count = 1;
  for (const int n : lens) count *= static_cast<std::size_t>(n);
  return count;
}

class DynamicPlans : public ::testing::Test {
 protected:
  void make(const std::string& text, int dynamic) {
    plan_ = make_plan(text);
    ASSERT_TRUE(ok(fuseplanPlanSetDynamicDims(plan_, dynamic)));
    ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan_)));
    ASSERT_TRUE(ok(fuseplanPlanGetOp(plan_, 0, &op_)));
    args_ = ArgsPtr();
    ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args_)));
  }

  fuseplanStatus_t execute(const std::vector<int>& lens) {
    const TensorPtr desc = make_tensor(lens);
    x_ = counting(elements(lens), 7);
    y_.assign(x_.size(), 99);
    return fuseplanExecutePlan(handle_, plan_, desc, x_.data(), desc, y_.data(), args_);
  }

  fuseplanStatus_t execute_add(const std::vector<int>& lens, std::size_t others) {
    other_ = counting(others, 5);
    EXPECT_TRUE(ok(fuseplanSetOpArgsTensorAdd(args_, op_, nullptr, nullptr, other_.data(), 1.0)));
    return execute(lens);
  }

  HandlePtr handle_ = make_handle("--cache=mem");
  PlanPtr plan_;
  ArgsPtr args_;
  fuseplanOp_t op_ = nullptr;
  std::vector<float> x_, y_, other_;
};

TEST_F(DynamicPlans, AddTensorsThatFollowFromALengthOfOne) {
  for (const std::vector<int>& made : {std::vector{1, 4, 4, 4}, {2, 4, 1, 3}, {1, 4, 1, 1}}) {
    make("f32:" + dims(made) + ":nchw;add(f32:" + dims(made) + ":nchw)", kAll);
    for (const std::vector<int>& lens :
         {std::vector{4, 4, 4, 4}, {1, 4, 1, 1}, {3, 4, 2, 5}, {1, 4, 4, 4}}) {
      ASSERT_TRUE(ok(execute_add(lens, elements(lens))));
      for (std::size_t i = 0; i < y_.size(); ++i)
        ASSERT_EQ(y_[i], x_[i] + other_[i]) << dims(made) << " as " << dims(lens) << " at " << i;
    }
  }
}

TEST_F(DynamicPlans, RepeatWhatTheyRepeatedAtLengthsAboveOne) {
  make("f32:2x4x3x3:nchw;add(f32:1x4x1x3:nchw)", kAll);
  ASSERT_TRUE(ok(execute_add({3, 4, 2, 5}, 4 * 5)));
  for (std::size_t i = 0; i < y_.size(); ++i)
    ASSERT_EQ(y_[i], x_[i] + other_[(i / 10 % 4) * 5 + i % 5]) << i;
}

TEST_F(DynamicPlans, RefuseALengthOfOneThatMayBeEither) {
  make("f32:1x4x3x3:nchw;add(f32:1x4x1x1:nchw)", kAll);
  EXPECT_TRUE(ok(execute_add({1, 4, 5, 2}, 4)));
  EXPECT_TRUE(refused(execute_add({4, 4, 3, 3}, 16), fuseplanStatusBadParm,
                      "op 0 (add): other is 1x4x1x1 over 1x4x3x3"));
  EXPECT_EQ(y_.front(), 99);
}

TEST_F(DynamicPlans, RefuseToGuessStrides) {
  const TensorPtr x = make_tensor({2, 4, 3, 3});
  TensorPtr slice;
  ASSERT_TRUE(ok(fuseplanCreateTensorDescriptor(&slice)));
  ASSERT_TRUE(ok(fuseplanSet4dTensorDescriptorEx(slice, fuseplanFloat, 2, 4, 3, 3, 72, 9, 3, 1)));
  ASSERT_TRUE(ok(fuseplanCreatePlan(&plan_, fuseplanVerticalFusion, x)));
  ASSERT_TRUE(ok(fuseplanCreateOpTensorAdd(plan_, &op_, slice)));
  ASSERT_TRUE(ok(fuseplanPlanSetDynamicDims(plan_, fuseplanDimBatch)));
  ASSERT_TRUE(ok(fuseplanCompilePlan(handle_, plan_)));
  ASSERT_TRUE(ok(fuseplanCreateOperatorArgs(&args_)));
  EXPECT_TRUE(ok(execute_add({2, 4, 3, 3}, 144)));
  EXPECT_TRUE(refused(execute_add({3, 4, 3, 3}, 216), fuseplanStatusBadParm, "not packed"));
}

TEST_F(DynamicPlans, PassGradientsFromALengthOfOne) {
  const std::vector<int> lens{4, 4, 2, 3};
  const std::vector<float> source = counting(elements(lens), 5);
  for (const char* made : {"f32:1x4x2x3:nchw", "f32:1x4x1x1:nchw", "f32:2x4x1x3:nchw"}) {
    make(std::string(made) + ";activation_backward(relu," + made + ")", kAll);
    ASSERT_TRUE(ok(fuseplanSetOpArgsActivBackward(args_, op_, nullptr, nullptr, nullptr,
                                                  source.data(), 0, 0, 0)));
    ASSERT_TRUE(ok(execute(lens)));
    for (std::size_t i = 0; i < y_.size(); ++i)
      ASSERT_EQ(y_[i], source[i] > 0 ? x_[i] : 0) << made << " at " << i;
  }
}

TEST_F(DynamicPlans, NormaliseBackwardsFromALengthOfOne) {
  const std::vector<int> lens{4, 4, 2, 3};
  const std::vector<float> source = counting(elements(lens), 5), ones(4, 1.0f);
  std::vector<float> from[2], dscale(4), dbias(4);
  for (const int n : {1, 2}) {
    const std::string made = "f32:" + std::to_string(n) + "x4x2x3:nchw";
    make(made + ";norm_backward(spatial,f32:1x4x1x1:nchw," + made + ")", fuseplanDimBatch);
    ASSERT_TRUE(ok(fuseplanSetOpArgsBatchNormBackward(args_, op_, nullptr, nullptr, source.data(),
                                                      ones.data(), nullptr, dscale.data(),
                                                      dbias.data(), ones.data(), ones.data())));
    ASSERT_TRUE(ok(execute(lens)));
    from[n - 1] = y_;
    from[n - 1].insert(from[n - 1].end(), dscale.begin(), dscale.end());
  }
  EXPECT_EQ(from[0], from[1]);
}

}  // namespace
}  // namespace fuseplan::test
