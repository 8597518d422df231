// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What tests tell the library that stands in for libcuda and NVRTC, and what they ask it. The
// library is opened and not linked, so that its cu* functions stand in for nobody else's: programs
// reach it through fuseplan_emulator_control().
namespace fuseplan::emulator {

struct LaunchRecord {
  std::string kernel;
  void* stream;
  unsigned cluster;  ///< blocks of one
};

struct Counters {
  long calls = 0;                                 ///< of driver functions
  long pushed = 0, modules = 0, allocations = 0;  ///< that have not been popped, unloaded, freed
  long waits = 0;                                 ///< calls that wait for a stream or an event
  long capture_violations = 0;                    ///< calls that ended a capture
  std::vector<LaunchRecord> launches;             ///< queued or captured
  std::vector<std::string> compiled;              ///< architectures and options given to NVRTC
};

/// When a stream's work is done: in the call that queues it, when something waits for it, or at
/// random in between, by the seed.
enum class Progress { early, late, any };

#define FUSEPLAN_EMULATOR_API __attribute__((visibility("default")))

/// One pointer for each function below, in the library.
struct Control {
#define FUSEPLAN_EMULATOR(result, name, parameters, arguments) result(*name) parameters;
#include "control_functions.def"
#undef FUSEPLAN_EMULATOR
};

/// They do nothing in a process that has not opened the library.
#define FUSEPLAN_EMULATOR(result, name, parameters, arguments) result name parameters;
#include "control_functions.def"
#undef FUSEPLAN_EMULATOR

}  // namespace fuseplan::emulator
