// SPDX-License-Identifier: MIT
#pragma once

#include <new>

#include "cache/retry.hpp"
#include "cache/store.hpp"

// How every use of the disk runs: with patience, under the process's lock, and without an error.
namespace fuseplan {

template <typename Body>
auto KernelStore::attempt(Direction direction, std::chrono::milliseconds patience,
                          const Body& body) {
  {
    std::lock_guard lock(fork_state().disk);
    patience = patience_.with_database(direction, patience);
  }
  std::uint64_t set_aside = 0;
  auto result = retry_while_busy(patience, [&] {
    std::lock_guard lock(fork_state().disk);
    patience_.require_awake();  // another thread's may have run out meanwhile
    auto made = body(*disk_);
    patience_.succeeded(direction);
    set_aside = disk_->set_aside_count();
    return made;
  });
  notice_set_aside(set_aside);
  return result;
}

/// store(room), where `room` is an estimate of the bytes it takes: should the page limit be met all
/// the same, more has to go.
template <typename Store>
auto with_room(std::uint64_t room, const Store& store) {
  try {
    return store(room);
  } catch (const CacheFault& fault) {
    if (fault.fault() != Fault::full) throw;
  }
  return store(4 * room);
}

template <typename Body>
auto KernelStore::on_disk(Direction direction, const Body& body, std::string* why)
    -> std::optional<std::invoke_result_t<Body, Disk&>> {
  if (!disk_) return std::nullopt;
  try {
    return attempt(direction,
                   direction == Direction::read ? config_.lookup_patience : config_.store_patience,
                   body);
  } catch (const CacheFault& fault) {
    degrade(direction, fault);
    if (why != nullptr) *why = fault.what();
  } catch (const std::bad_alloc&) {
    if (why != nullptr) *why = "out of memory";
    degrade(direction, CacheFault(Fault::memory, "out of memory"));
  }
  return std::nullopt;
}

}  // namespace fuseplan
