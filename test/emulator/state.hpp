// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "control.hpp"

namespace fuseplan::emulator {

/// Everything the stand-in remembers. One process-wide object, guarded by its mutex.
struct State {
  std::mutex mutex;
  Counters counters;
  long countdown = 0;  ///< calls until one fails; 0: none
  int failure = 0;
  bool keeps_failing = false;  ///< all calls behind that one
  std::uint64_t seed = 1;
  std::map<std::uintptr_t, std::size_t> memory;  ///< that kernels may touch
  std::optional<std::pair<std::string, std::string>> mutation;
};
State& state();

/// Counts a call down; whether it is to fail. The caller holds the mutex.
bool fails_now();

}  // namespace fuseplan::emulator
