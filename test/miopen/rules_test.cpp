// SPDX-License-Identifier: MIT
// What MIOpen's clients lean on, rule by rule.
#include "world.hpp"

namespace fuseplan::test {
namespace {

TEST(Fusion, ConvolutionBiasActivation) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  ASSERT_TRUE(ok(all.execute(handle)));
  EXPECT_TRUE(all.right());
}

// 1. alpha and beta may be NULL, dangling or odd.
TEST(Rules, FusedScalarsAreNeverRead) {
  Random random;
  Handle handle;
  ConvBiasAct all(random);
  ASSERT_TRUE(ok(miopenCompileFusionPlan(handle, all.plan)));
  const void* nowhere = reinterpret_cast<const void*>(8);  // reading it would end the process
  const float one = 1, seven = 7;
  ASSERT_TRUE(
      ok(miopenSetOpArgsConvForward(all.args, all.plan.op(0), nowhere, nowhere, all.w.data())));
  ASSERT_TRUE(ok(miopenSetOpArgsBiasForward(all.args, all.plan.op(1), &seven, &one, all.b.data())));
  ASSERT_TRUE(ok(miopenSetOpArgsActivForward(all.args, all.plan.op(2), nowhere, &one, 0, 0, 0)));
  ASSERT_TRUE(ok(all.execute(handle)));  // over canaries, which are NaN
  EXPECT_TRUE(all.right());
}

}  // namespace
}  // namespace fuseplan::test
