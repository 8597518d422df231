// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "cache/disk.hpp"
#include "cache/fault.hpp"

namespace fuseplan {

/// How long a store waits for others. Once a patience ran out the disk is left alone for a second,
/// and until an access succeeds again each attempt gets no more than the time that SQLite takes by
/// itself: a lock that stays costs one patience, not one for each kernel. Likewise with builds of
/// other processes, which are not waited for again for a minute. Used under fork_state().disk.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  using Direction = Disk::Direction;

  bool resting() const { return Clock::now() < rest_until_; }
  void require_awake() const {
    if (resting()) throw CacheFault(Fault::paused, "the database was locked a moment ago");
  }
  /// What is left of `full` for an access.
  std::chrono::milliseconds with_database(Direction direction,
                                          std::chrono::milliseconds full) const {
    const bool is_short = reads_ran_out_ || (direction == Direction::write && writes_ran_out_);
    return is_short ? std::chrono::milliseconds(0) : full;
  }
  void database_ran_out() {
    rest_until_ = Clock::now() + std::chrono::seconds(1);
    reads_ran_out_ = writes_ran_out_ = true;
  }
  /// A read says nothing of writes: readers are not in the way of each other.
  void succeeded(Direction direction) {
    reads_ran_out_ = false;
    if (direction == Direction::write) writes_ran_out_ = false;
  }

  bool waits_for_builds() const { return Clock::now() >= builds_alone_until_; }
  void builds_ran_out() { builds_alone_until_ = Clock::now() + std::chrono::minutes(1); }

  /// For whoever asks by hand: everything is tried again, and waited for.
  void restore() { *this = Patience(); }

 private:
  Clock::time_point rest_until_{}, builds_alone_until_{};
  bool reads_ran_out_ = false, writes_ran_out_ = false;
};

}  // namespace fuseplan
