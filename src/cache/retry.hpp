// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <random>
#include <thread>

#include "cache/fault.hpp"

namespace fuseplan {

/// Short and random: with SQLite's growing back-off some of many contenders starve.
inline void pause_between_attempts() {
  thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::uniform_int_distribution<>(500, 2000)(random)));
}

/// Runs `attempt` until it no longer ends in Fault::busy, or `patience` is over. Locks are taken
/// inside the attempt, so that they are free in the pauses.
template <typename Attempt>
auto retry_while_busy(std::chrono::milliseconds patience, const Attempt& attempt) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    try {
      return attempt();
    } catch (const CacheFault& fault) {
      if (fault.fault() != Fault::busy || std::chrono::steady_clock::now() >= deadline) throw;
    }
    pause_between_attempts();
  }
}

}  // namespace fuseplan
