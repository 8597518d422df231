// SPDX-License-Identifier: MIT
// What objects are after their end, and among each other.
#include <atomic>
#include <cstdlib>
#include <set>

#include "api_world.hpp"

namespace fuseplan::test {
namespace {

TEST(Objects, AreDestroyedOnce) {
  World world;
  const fuseplanTensorDescriptor_t tensor = world.x;
  world.x.reset();
  EXPECT_TRUE(refused(fuseplanDestroyTensorDescriptor(tensor), fuseplanStatusBadParm,
                      "tensorDesc is a fuseplanTensorDescriptor_t that was destroyed"));
}

TEST(Objects, OfAPlanEndWithIt) {
  World world;
  const float value = 1;
  EXPECT_TRUE(
      ok(fuseplanSetOpArgsBiasForward(world.args, world.bias_op, nullptr, nullptr, &value)));
  world.plan.reset();
  EXPECT_TRUE(
      refused(fuseplanSetOpArgsBiasForward(world.args, world.bias_op, nullptr, nullptr, &value),
              fuseplanStatusBadParm, "biasOp is a fuseplanOp_t that was destroyed"));
}

TEST(Objects, NeverGetANumberAgain) {
  std::set<fuseplanTensorDescriptor_t> seen;
  for (int i = 0; i < 20000; ++i) {
    fuseplanTensorDescriptor_t tensor = nullptr;
    ASSERT_TRUE(ok(fuseplanCreateTensorDescriptor(&tensor)));
    ASSERT_TRUE(seen.insert(tensor).second);
    ASSERT_TRUE(ok(fuseplanDestroyTensorDescriptor(tensor)));
  }
}

TEST(Objects, NameTheTypeThatWasGiven) {
  World world;
  int count = 0;
  const auto plan = reinterpret_cast<fuseplanPlan_t>(static_cast<fuseplanHandle_t>(world.handle));
  EXPECT_TRUE(refused(fuseplanPlanGetOpCount(plan, &count), fuseplanStatusBadParm,
                      "plan is a fuseplanHandle_t, expected a fuseplanPlan_t"));
}

// The number beside an object's may be the place of one of another type.
TEST(Objects, AreNotFoundUnderNumbersNearby) {
  World world;
  const auto bits = [](auto object) { return reinterpret_cast<std::uintptr_t>(object); };
  constexpr std::uintptr_t kPlace = (std::uintptr_t{1} << 44) - 1;
  const fuseplanTensorDescriptor_t tensor = world.x;
  const fuseplanConvolutionDescriptor_t convolution = world.convolution;
  const auto fake = reinterpret_cast<fuseplanTensorDescriptor_t>((bits(tensor) & ~kPlace) |
                                                                 (bits(convolution) & kPlace));
  EXPECT_TRUE(refused(fuseplanSet4dTensorDescriptor(fake, fuseplanFloat, 1, 2, 3, 4),
                      fuseplanStatusBadParm, "is no object of this library"));
  EXPECT_TRUE(refused(fuseplanDestroyTensorDescriptor(fake), fuseplanStatusBadParm,
                      "is no object of this library"));
  int axes = 0;
  EXPECT_TRUE(ok(fuseplanGetConvolutionSpatialDim(convolution, &axes)));
  EXPECT_EQ(axes, 2);
}

struct Memory {
  std::atomic<int> taken{0}, held{0};
  static void* take(void* self, std::size_t bytes) {
    ++static_cast<Memory*>(self)->taken;
    ++static_cast<Memory*>(self)->held;
    return std::malloc(bytes);
  }
  static void give_back(void* self, void* memory) {
    --static_cast<Memory*>(self)->held;
    std::free(memory);
  }
};

TEST(Objects, GiveTheCallersMemoryBackWithTheArgs) {
  Memory memory;
  World o;
  ASSERT_TRUE(ok(fuseplanSetAllocator(o.handle, Memory::take, Memory::give_back, &memory)));
  ASSERT_TRUE(ok(
      fuseplanExecutePlan(o.handle, o.plan, o.x, o.x_data.data(), o.y, o.y_data.data(), o.args)));
  EXPECT_EQ(memory.taken, 1) << "for the prepared weights";
  o.plan.reset();
  o.handle.reset();
  o.args.reset();
  EXPECT_EQ(memory.held, 0);
}

}  // namespace
}  // namespace fuseplan::test
