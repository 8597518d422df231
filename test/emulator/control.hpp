// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What tests tell the library that stands in for libcuda and NVRTC, and what they ask it.
namespace fuseplan::emulator {

struct LaunchRecord {
  std::string kernel;
  void* stream;
  unsigned cluster;  ///< blocks of one
};

struct Counters {
  long calls = 0;                                 ///< of driver functions
  long pushed = 0, modules = 0, allocations = 0;  ///< that have not been popped, unloaded, freed
  long capture_violations = 0;                    ///< calls that ended a capture
  std::vector<LaunchRecord> launches;
  std::vector<std::string> compiled;  ///< architectures and options given to NVRTC
};

#define FUSEPLAN_EMULATOR_API __attribute__((visibility("default")))

/// Counters at 0, nothing fails, nothing captures, no mutation; memory stays known.
FUSEPLAN_EMULATOR_API void reset();
FUSEPLAN_EMULATOR_API Counters counters();

/// The `number`-th driver call from now on, 1 being the next, gives `code` and does nothing.
FUSEPLAN_EMULATOR_API void fail_call(long number, int code);
/// Allocating, freeing, copying, synchronising and loading give 900 (CAPTURE_UNSUPPORTED).
FUSEPLAN_EMULATOR_API void set_capturing(bool on);
/// Of the order in which a block's threads run.
FUSEPLAN_EMULATOR_API void set_seed(std::uint64_t seed);

/// Host memory that kernels may touch, besides what cuMemAlloc gave. Forgotten by `bytes` 0.
FUSEPLAN_EMULATOR_API void know_memory(const void* first, std::size_t bytes);

/// A stream of the device's primary context, and one of another context. They live for ever.
FUSEPLAN_EMULATOR_API void* own_stream();
FUSEPLAN_EMULATOR_API void* foreign_stream();

/// From now on NVRTC replaces `from` by `to` in each source; compiling fails if it is not there.
FUSEPLAN_EMULATOR_API void mutate(const std::string& from, const std::string& to);

}  // namespace fuseplan::emulator
