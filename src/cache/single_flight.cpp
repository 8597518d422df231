// SPDX-License-Identifier: MIT
#include "cache/single_flight.hpp"

#include <mutex>

namespace fuseplan {
namespace {

using Source = KernelStore::Source;
using Found = KernelStore::Found;

Outcome outcome_of(Source source) {
  return source == Source::memory ? Outcome::hit_memory : Outcome::hit_disk;
}

Found build_row(KernelStore& store, const CacheKey& key, const std::function<Row()>& build) {
  if (Found found = store.look_up(key); found.row) return found;
  const std::optional<FileLock> lock = store.lock_build(key);
  // Whoever held the lock before us may have built it.
  if (lock && lock->held())
    if (Found found = store.look_up(key); found.row) return found;
  auto row = std::make_shared<const Row>(build());
  store.count_build();
  store.keep(key, row);
  return {std::move(row), Source::none};
}

std::shared_ptr<const Row> wait_for(Flight& flight) {
  std::unique_lock lock(fork_state().memory);
  flight.landed.wait(lock, [&] { return flight.done; });
  if (flight.error) std::rethrow_exception(flight.error);
  return flight.row;
}

// Lands the flight however the build ends.
Found pilot(KernelStore& store, const CacheKey& key, const std::function<Row()>& build,
            Flight& flight) {
  Found found;
  std::exception_ptr error;
  try {
    found = build_row(store, key, build);
  } catch (...) {
    error = std::current_exception();
  }
  {
    std::lock_guard lock(fork_state().memory);
    flight.row = found.row;
    flight.error = error;
    store.flights().land(key.digest, flight);
  }
  if (error) std::rethrow_exception(error);
  return found;
}

}  // namespace

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::hit_memory:
      return "hit_memory";
    case Outcome::hit_disk:
      return "hit_disk";
    case Outcome::built:
      return "built";
  }
  return "";
}

Row get_or_build(KernelStore& store, const CacheKey& key, const std::function<Row()>& build,
                 Outcome& outcome) {
  if (store.mode() == CacheMode::off) {
    store.count(Source::none);
    store.count_build();
    outcome = Outcome::built;
    return build();
  }
  FlightTable::Seat seat;
  {
    std::lock_guard lock(fork_state().memory);
    seat = store.flights().join(key.digest);
  }
  if (!seat.pilot) {
    const auto row = wait_for(*seat.flight);
    store.count(Source::memory);
    outcome = Outcome::hit_memory;
    return *row;
  }
  const Found found = pilot(store, key, build, *seat.flight);
  store.count(found.source);
  outcome = found.source == Source::none ? Outcome::built : outcome_of(found.source);
  return *found.row;
}

}  // namespace fuseplan
