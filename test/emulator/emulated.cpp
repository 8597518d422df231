// SPDX-License-Identifier: MIT
#include "emulated.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace fuseplan::test {
namespace {

// Before anything asks for a driver. What the caller has set wins.
const bool kChosen = [] {
  if (on_gpu()) return false;
  setenv("FUSEPLAN_LIB_CUDA", FUSEPLAN_EMULATOR_LIBRARY, 0);
  setenv("FUSEPLAN_LIB_NVRTC", FUSEPLAN_EMULATOR_LIBRARY, 0);
  return true;
}();

// Whose memory cases take on a GPU; any handle on the device may run them.
fuseplanHandle_t gpu_memory() {
  static const Handle& handle = *new Handle(emulated_handle());
  return handle.get();
}

CaseOptions where(CaseOptions options) {
  if (on_gpu()) options.device = gpu_memory();
  return options;
}

void record(Case& c, const CaseOptions& options) {
  const char* path = std::getenv("FUSEPLAN_DEVICE_RECORD");
  if (path == nullptr) return;
  std::uint64_t digest = 14695981039346656037u;  // FNV-1a
  const auto* bytes = static_cast<const unsigned char*>(c.output().data());
  for (std::size_t i = 0; i < c.output().bytes(); ++i)
    digest = (digest ^ bytes[i]) * 1099511628211u;
  std::ofstream(path, std::ios::app)
      << fmt::format("{}|{}|{}|{}|{}|{:016x}\n", driver::to_text(c.problem()), options.stream,
                     options.misalign, options.blend, options.in_place, digest);
}

}  // namespace

bool on_gpu() {
  static const bool gpu = std::getenv("FUSEPLAN_TEST_DEVICE") != nullptr;
  return gpu;
}

Handle emulated_handle(const char* options) {
  auto handle = driver::make<Handle>(fuseplanCreateForDevice, "cuda:0");
  driver::check(fuseplanSetOptions(handle.get(), options));
  return handle;
}

EmulatedCase::EmulatedCase(ProblemSpec problem, const CaseOptions& options)
    : Case(std::move(problem), where(options)) {
  if (on_gpu()) return;
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
    record(c, options);
  } catch (const driver::ApiError& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace fuseplan::test
