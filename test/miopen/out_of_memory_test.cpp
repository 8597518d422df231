// SPDX-License-Identifier: MIT
#include "failing_memory/failing_memory.hpp"
#include "world.hpp"

namespace fuseplan::test {
namespace {

// Every allocation of an op's creation fails once.
void append_without_memory(miopenTensorDescriptor_t input) {
  const FusionPlan plan(miopenVerticalFusion, input);
  miopenFusionOpDescriptor_t op = nullptr, first = nullptr;
  for (long number = 0;; ++number) {
    trap = {number, false, false};
    const miopenStatus_t status = miopenCreateOpActivationForward(plan, &op, miopenActivationRELU);
    if (!std::exchange(trap, {}).sprung) {
      EXPECT_TRUE(ok(status));
      EXPECT_GT(number, 2) << "there is more to an op than that";
      break;
    }
    EXPECT_TRUE(refused(status, miopenStatusAllocFailed)) << "allocation " << number;
    EXPECT_TRUE(
        refused(miopenFusionPlanGetOp(plan, 0, &first), miopenStatusBadParm, "the plan has 0 ops"))
        << "allocation " << number;
  }
  EXPECT_TRUE(ok(miopenFusionPlanGetOp(plan, 0, &first)));
  EXPECT_EQ(first, op);
}

TEST(OutOfMemory, AnOpIsThereWholeOrNotAtAll) {
  const TensorDesc input = describe(miopenFloat, {1, 2, 3, 4});
  append_without_memory(input);  // what is made once for all
  const long before = living;
  append_without_memory(input);
  EXPECT_EQ(living, before);
}

}  // namespace
}  // namespace fuseplan::test
