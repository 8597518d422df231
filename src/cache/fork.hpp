// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <set>

#include "base/fork.hpp"

namespace fuseplan {

/// What fork() has to find at rest. A child inherits memory as it was at the fork, with only the
/// forking thread alive: a lock held by any other would stay held for ever, and SQLite would take
/// the parent's half-done transaction for its own. So fork waits for these mutexes (each is held
/// for one attempt at a transaction at the longest).
struct ForkState {
  std::mutex disk;                 ///< every connection of this process; taken first
  std::mutex memory;               ///< memory layers, flights, pending ticks
  std::mutex descriptors;          ///< lock_descriptors; taken last
  std::set<int> lock_descriptors;  ///< closed in the child, or they would keep the locks alive
};

/// The process's one instance. Never destroyed: threads may outlive static destructors.
ForkState& fork_state();

}  // namespace fuseplan
