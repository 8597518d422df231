// SPDX-License-Identifier: MIT
// Where MIOpen's formulas are not the mathematical ones. Run as it is, and with
// FUSEPLAN_COMPAT_QUIRKS=0 by CMakeLists.txt.
#include <cstdlib>
#include <string_view>

#include "world.hpp"

namespace fuseplan::test {
namespace {

bool quirks() {
  const char* set = std::getenv("FUSEPLAN_COMPAT_QUIRKS");
  return set == nullptr || std::string_view(set) != "0";
}

TEST(Quirks, Power) {
  Handle handle;
  const TensorDesc desc = describe(miopenFloat, {1, 4, 1, 1});
  const ActivDesc cube = activation(miopenActivationPOWER, 0, 1, 3);
  const float x[] = {-2, 5e-7f, 1, 2}, dy[] = {10, 10, 10, 10};
  float y[4] = {}, dx[4] = {};
  ASSERT_TRUE(ok(miopenActivationForward(handle, cube, nullptr, desc, x, nullptr, desc, y)));
  EXPECT_NEAR(y[0], quirks() ? 0 : -8, 1e-5);
  EXPECT_NEAR(y[3], 8, 1e-5);
  ASSERT_TRUE(ok(miopenActivationBackward(handle, cube, nullptr, desc, y, desc, dy, desc, x,
                                          nullptr, desc, dx)));
  EXPECT_NEAR(dx[0], quirks() ? 0 : 120, 1e-4);
  EXPECT_NEAR(dx[3], quirks() ? 12 : 120, 1e-4);
}

TEST(Quirks, AbsAtZero) {
  Handle handle;
  const TensorDesc desc = describe(miopenFloat, {1, 3, 1, 1});
  const float x[] = {-1, 0, 1}, dy[] = {2, 3, 4};
  float dx[3] = {};
  ASSERT_TRUE(ok(miopenActivationBackward(handle, activation(miopenActivationABS), nullptr, desc, x,
                                          desc, dy, desc, x, nullptr, desc, dx)));
  EXPECT_EQ(dx[0], -2);
  EXPECT_EQ(dx[1], quirks() ? -3 : 0);
  EXPECT_EQ(dx[2], 4);
}

TEST(Quirks, PowerInABackwardPlan) {
  Handle handle;
  FusionPlan plan(miopenVerticalFusion, describe(miopenFloat, {2, 3, 4, 4}));
  miopenFusionOpDescriptor_t op;
  ASSERT_TRUE(ok(miopenCreateOpBatchNormBackward(plan, &op, miopenBNSpatial)));
  ASSERT_TRUE(ok(miopenCreateOpActivationBackward(plan, &op, miopenActivationPOWER)));
  EXPECT_EQ(miopenCompileFusionPlan(handle, plan),
            quirks() ? miopenStatusUnsupportedOp : miopenStatusSuccess);
}

}  // namespace
}  // namespace fuseplan::test
