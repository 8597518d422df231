// SPDX-License-Identifier: MIT
// find_mode on a device: candidates are timed there, the winner is stored and found again.
#include "emulated.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

const char* const kConv =
    "f32:1x9x7x7:nhwc;conv(f32:20x9x3x3:nhwc,pad=1x1);bias(f32:1x20x1x1);activation(relu)";

struct Found {
  fuseplanPlanInfo_t info{};
  std::string source, candidate;
};

// Compiles the plan on a handle of its own, runs it, and expects the result to be right.
Found find(const std::string& options) {
  const Handle handle = emulated_handle(options.c_str());
  EmulatedCase c(driver::parse_problem(kConv));
  expect_right(c, handle.get());
  Found found;
  found.info.structSize = sizeof found.info;
  driver::check(fuseplanPlanGetInfo(handle.get(), c.plan(), &found.info));
  found.source = found.info.configSource;
  found.candidate = std::string(found.info.solver) + ":" + found.info.config;
  return found;
}

TEST(DeviceTuning, TimesOnTheDeviceAndKeepsTheWinner) {
  const TemporaryDirectory directory;
  const std::string cache = "--cache=rw --tune_ms=2000 --cache_dir=" + directory.path();
  emulator::reset();
  const Found model = find(cache + " --find_mode=fast");
  EXPECT_EQ(model.source, "model");

  const Found tuned = find(cache + " --find_mode=hybrid");
  EXPECT_EQ(tuned.source, "tuned");
  EXPECT_GT(tuned.info.candidatesTimed, 1);
  EXPECT_GT(tuned.info.tunedMicroseconds, 0);
  EXPECT_LE(tuned.info.tunedMicroseconds, tuned.info.untunedMicroseconds);
  EXPECT_NE(tuned.info.cacheHit, 0) << "the search has compiled it";
  const emulator::Counters counters = emulator::counters();
  EXPECT_GT(counters.launches.size(), 4u);
  EXPECT_EQ(counters.allocations, 0);
  EXPECT_EQ(counters.modules, 0);
  EXPECT_EQ(counters.pushed, 0);

  // Whoever comes later finds the winner without a search, and without compiling anything.
  for (const char* mode : {" --find_mode=fast", " --find_mode=hybrid"}) {
    const Found again = find(cache + mode);
    EXPECT_EQ(again.source, "tuned") << mode;
    EXPECT_EQ(again.candidate, tuned.candidate) << mode;
    EXPECT_NE(again.info.cacheHit, 0) << mode;
  }
  EXPECT_EQ(emulator::counters().compiled.size(), counters.compiled.size());
}

const char* const kSearching = "--cache=mem --tune_ms=60000 --find_mode=normal";

/// Compiles with a search during which calls of the driver fail. However slow the machine is, those
/// are among the search's. check(handle, case, status, message), with all well again.
template <typename Check>
void compile_failing(void (*fail)(long number, int code), const Check& check) {
  const Handle keeps = emulated_handle(kSearching);  // what is in memory, for the others
  find(kSearching);
  for (long call : {5, 12, 25, 40, 80}) {
    SCOPED_TRACE(call);
    emulator::reset();
    const Handle handle = emulated_handle(kSearching);
    EmulatedCase c(driver::parse_problem(kConv));
    fail(call, 700);
    const fuseplanStatus_t status = fuseplanCompilePlan(handle.get(), c.plan());
    const std::string message = fuseplanGetLastErrorMessage();
    emulator::fail_call(0, 0);
    check(handle, c, status, message);
  }
}

// A device that fails while candidates are timed leaves the choice to the model.
TEST(DeviceTuning, AFailingDeviceCostsTheSearchOnly) {
  compile_failing(emulator::fail_call, [](const Handle& handle, EmulatedCase& c,
                                          fuseplanStatus_t status, const std::string& message) {
    EXPECT_EQ(status, fuseplanStatusSuccess) << message;
    if (status == fuseplanStatusSuccess) expect_right(c, handle.get());
    EXPECT_EQ(emulator::counters().allocations, 0);
    EXPECT_EQ(emulator::counters().pushed, 0);
  });
}

// After a kernel's fault every call fails, those that free the search's memory too.
TEST(DeviceTuning, ADeviceThatIsLostFailsTheCompilation) {
  compile_failing(emulator::fail_from, [](const Handle&, EmulatedCase&, fuseplanStatus_t status,
                                          const std::string& message) {
    EXPECT_NE(status, fuseplanStatusSuccess);
    EXPECT_NE(message.find("CUDA_ERROR_FAKE_700"), std::string::npos) << message;
  });
  emulator::reset();
  find(kSearching);
}

}  // namespace
}  // namespace fuseplan::test
