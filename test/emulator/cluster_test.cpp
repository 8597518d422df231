// SPDX-License-Identifier: MIT
// How the CUDA back end launches clusters of blocks, on the stand-in for the driver.
#include <utility>

#include "backend/cuda/driver.hpp"
#include "driver_calls.hpp"
#include "emulated.hpp"

namespace fuseplan::test {
namespace {

const char* const kProblem =
    "f32:3x5x9x7:nchw;norm_training(spatial,f32:1x5x1x1,running);activation(elu)";

Handle cluster_handle() { return emulated_handle("--cache=mem --pin=gpu_norm:cluster"); }

fuseplanStatus_t execute(const Handle& handle, EmulatedCase& c) {
  return fuseplanExecutePlan(handle.get(), c.plan(), c.input_desc(), c.input().data(),
                             c.output_desc(), c.output().data(), c.args());
}

TEST(EmulatedClusters, LaunchIsLegalInACapture) {
  const Handle handle = cluster_handle();
  EmulatedCase c(driver::parse_problem(kProblem));
  c.compile(handle.get());
  void* const stream = emulator::new_stream(false);
  driver::check(fuseplanSetStream(handle.get(), stream));
  emulator::reset();
  const CapturedGraph graph(stream, [&] { driver::check(execute(handle, c)); });
  EXPECT_EQ(graph.result(), 0);
  const emulator::Counters counted = emulator::counters();
  EXPECT_EQ(counted.capture_violations, 0);
  ASSERT_EQ(counted.launches.size(), 1u);
  EXPECT_EQ(counted.launches[0].cluster, 8u);
  EXPECT_EQ(counted.launches[0].stream, stream);
  graph.launch(stream);
  driver::check(fuseplanSynchronize(handle.get()));
  EXPECT_TRUE(c.compare().ok()) << c.compare().describe();
}

// 912: CUDA_ERROR_INVALID_CLUSTER_SIZE, of a device that is too small a part of one.
TEST(EmulatedClusters, ALaunchThatFailsIsReported) {
  const Handle handle = cluster_handle();
  EmulatedCase c(driver::parse_problem(kProblem));
  c.compile(handle.get());
  bool reported = false;
  for (long number = 1; number < 10; ++number) {
    emulator::reset();
    emulator::fail_call(number, 912);
    const fuseplanStatus_t status = execute(handle, c);
    const std::string said = fuseplanGetLastErrorMessage();
    EXPECT_EQ(emulator::counters().pushed, 0);
    if (said.find("cuLaunchKernelEx failed") == std::string::npos) continue;
    EXPECT_EQ(status, fuseplanStatusInternalError);
    EXPECT_NE(said.find("(912)"), std::string::npos) << said;
    reported = true;
    break;
  }
  EXPECT_TRUE(reported);
  emulator::reset();
}

// Plans that need no cluster run there as ever.
TEST(EmulatedClusters, AnOldDriverIsSaidToBeOne) {
  const Handle handle = cluster_handle(),
               plain = emulated_handle("--cache=mem --pin=gpu_norm:whole");
  auto& functions = const_cast<cuda::Driver&>(cuda::driver());
  const auto kept = std::exchange(functions.launch_extended, nullptr);
  EmulatedCase c(driver::parse_problem(kProblem));
  const fuseplanStatus_t status = fuseplanCompilePlan(handle.get(), c.plan());
  const std::string said = fuseplanGetLastErrorMessage();
  expect_right_on_device(plain, driver::parse_problem(kProblem));
  functions.launch_extended = kept;
  EXPECT_EQ(status, fuseplanStatusUnsupportedOp);
  EXPECT_NE(said.find("lacks cuLaunchKernelEx"), std::string::npos) << said;
  EXPECT_NE(said.find("CUDA 11.8"), std::string::npos) << said;
}

}  // namespace
}  // namespace fuseplan::test
