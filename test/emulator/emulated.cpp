// SPDX-License-Identifier: MIT
#include "emulated.hpp"

#include <cstdlib>

namespace fuseplan::test {
namespace {

// Before anything asks for a driver. What the caller has set wins.
const bool kChosen = [] {
  setenv("FUSEPLAN_LIB_CUDA", FUSEPLAN_EMULATOR_LIBRARY, 0);
  setenv("FUSEPLAN_LIB_NVRTC", FUSEPLAN_EMULATOR_LIBRARY, 0);
  return true;
}();

}  // namespace

Handle emulated_handle(const char* options) {
  auto handle = driver::make<Handle>(fuseplanCreateForDevice, "cuda:0");
  driver::check(fuseplanSetOptions(handle.get(), options));
  return handle;
}

EmulatedCase::EmulatedCase(ProblemSpec problem, const CaseOptions& options)
    : Case(std::move(problem), options) {
  const auto know = [&](const HostTensor& tensor) {
    emulator::know_memory(tensor.data(), tensor.bytes());
    known_.push_back(tensor.data());
  };
  know(input());
  know(output());
  for (std::size_t i = 0; i < parameter_count(); ++i) know(parameter(i));
  for (std::size_t i = 0; i < result_count(); ++i) know(result(i));
}

EmulatedCase::~EmulatedCase() {
  for (const void* memory : known_) emulator::know_memory(memory, 0);
}

void expect_right_on_device(const Handle& handle, const ProblemSpec& problem, const char* solver,
                            const CaseOptions& options) {
  SCOPED_TRACE(driver::to_text(problem) + ", seed " + std::to_string(test_seed()) + ", stream " +
               std::to_string(options.stream));
  try {
    EmulatedCase c(problem, options);
    if (solver != nullptr) driver::check(fuseplanPlanSetSolver(c.plan(), solver));
    emulator::set_seed(test_seed() + options.stream);
    expect_right(c, handle.get());
    EXPECT_EQ(c.input().damage(), "");
  } catch (const driver::ApiError& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace fuseplan::test
