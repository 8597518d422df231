// SPDX-License-Identifier: MIT
// What a store does when others are in its way, or the disk is: it goes on without them, counts
// that, and says so once.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "cache/store.hpp"

namespace fuseplan {

std::optional<FileLock> KernelStore::lock_build(const CacheKey& key,
                                                std::chrono::milliseconds patience) {
  if (!can_write()) return std::nullopt;
  patience = std::max(patience, config_.build_patience);
  Descriptor directory;
  bool waits = true;
  {
    std::lock_guard lock(fork_state().disk);
    if (patience_.resting() || disk_->writes_paused() || disk_->read_only()) return std::nullopt;
    waits = patience_.waits_for_builds();
    directory = disk_->directory();
  }
  if (!directory) return std::nullopt;
  auto lock = FileLock::acquire(directory, build_byte(key.digest), FileLock::Kind::exclusive,
                                waits ? patience : std::chrono::milliseconds(0));
  if (!lock && waits) {
    ++counters_.busy_timeouts;
    warn(Warning::build,
         fmt::format("another process has been making the same kernel or search for {} ms: for a "
                     "minute nothing is waited for",
                     patience.count()));
    std::lock_guard guard(fork_state().disk);
    patience_.builds_ran_out();
  }
  return lock;
}

void KernelStore::notice_set_aside(std::uint64_t count) {
  if (set_aside_.exchange(count) == count) return;
  warn(Warning::damaged, fmt::format("the kernel cache {} was damaged: it was set aside and a new "
                                     "one begun",
                                     disk_->path()));
}

void KernelStore::degrade(Direction direction, const CacheFault& fault) {
  switch (fault.fault()) {
    case Fault::paused:
      return;
    case Fault::busy:
      ++counters_.busy_timeouts;
      {
        std::lock_guard lock(fork_state().disk);
        patience_.database_ran_out();
      }
      return warn(Warning::busy, fmt::format("the kernel cache is busy: {}", fault.what()));
    case Fault::memory:
      return warn(Warning::memory, fmt::format("the kernel cache is not used: {}", fault.what()));
    case Fault::damaged:
      return warn(Warning::damaged, fmt::format("the kernel cache is damaged: {}", fault.what()));
    case Fault::moved:
    case Fault::full:
    case Fault::trouble:
      break;
  }
  if (direction == Direction::write) {
    std::lock_guard lock(fork_state().disk);
    disk_->pause_writes(fault.what());
  }
  warn_of_disk(fault.what());
}

void KernelStore::warn_of_disk(std::string_view why) {
  warn(Warning::disk, fmt::format("new kernels are kept in memory only: {}", why));
}

std::string KernelStore::location() {
  if (!disk_) return {};
  const std::string refusal = disk_->refusal();
  if (refusal.empty()) return disk_->path();
  warn_of_disk(refusal);
  return {};
}

void KernelStore::warn(Warning kind, std::string_view text) {
  if (!config_.warn && !log_enabled(LogLevel::warning)) return;  // it may be enabled later
  const auto bit = static_cast<unsigned>(kind);
  if ((warned_.fetch_or(bit) & bit) != 0) return;
  if (!config_.warn) return log_line(LogLevel::warning, "cache", text);
  try {
    config_.warn(text);
  } catch (...) {
    // A log sink that fails must not fail the compile it reports on.
  }
}

}  // namespace fuseplan
