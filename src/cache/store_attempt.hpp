// SPDX-License-Identifier: MIT
#pragma once

#include <new>

#include "cache/retry.hpp"
#include "cache/store.hpp"

// How every use of the disk runs: with patience, under the process's lock, and without an error.
namespace fuseplan {

template <typename Body>
auto KernelStore::attempt(std::chrono::milliseconds patience, const Body& body) {
  std::uint64_t set_aside = 0;
  auto result = retry_while_busy(patience, [&] {
    std::lock_guard lock(fork_state().disk);
    auto made = body(*disk_);
    set_aside = disk_->set_aside_count();
    return made;
  });
  notice_set_aside(set_aside);
  return result;
}

template <typename Body>
auto KernelStore::on_disk(Direction direction, const Body& body)
    -> std::optional<std::invoke_result_t<Body, Disk&>> {
  if (!disk_) return std::nullopt;
  try {
    return attempt(direction == Direction::read ? config_.lookup_patience : config_.store_patience,
                   body);
  } catch (const CacheFault& fault) {
    degrade(direction, fault);
  } catch (const std::bad_alloc&) {
    degrade(direction, CacheFault(Fault::memory, "out of memory"));
  }
  return std::nullopt;
}

}  // namespace fuseplan
