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

std::optional<std::string> usable_tuning(KernelStore& store, const CacheKey& key,
                                         const TuningRequest& request) {
  auto value = store.find_tuning(key);
  if (!value || !request.usable(*value)) return std::nullopt;
  store.count_tuning_hit();
  return value;
}

std::string tune(KernelStore& store, const CacheKey& key, const TuningRequest& request) {
  if (auto value = usable_tuning(store, key, request)) return *std::move(value);
  const std::optional<FileLock> lock =
      request.shared ? store.lock_build(key, request.patience) : std::optional<FileLock>();
  // Whoever held the lock before us may have found it.
  if (lock && lock->held())
    if (auto value = usable_tuning(store, key, request)) return *std::move(value);
  store.count_search();
  std::string value = request.search();
  if (!value.empty()) store.put_tuning(key, value);
  return value;
}

std::shared_ptr<const Row> wait_for(Flight& flight) {
  std::unique_lock lock(fork_state().memory);
  flight.landed.wait(lock, [&] { return flight.done; });
  if (flight.error) std::rethrow_exception(flight.error);
  return flight.row;
}

// Runs `make`, which gives a Found, and lands the flight however it ends.
template <typename Make>
Found pilot(KernelStore& store, const CacheKey& key, Flight& flight, const Make& make) {
  Found found;
  std::exception_ptr error;
  try {
    found = make();
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

FlightTable::Seat take_seat(KernelStore& store, const CacheKey& key) {
  std::lock_guard lock(fork_state().memory);
  return store.flights().join(key.digest);
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
  const FlightTable::Seat seat = take_seat(store, key);
  if (!seat.pilot) {
    const auto row = wait_for(*seat.flight);
    store.count(Source::memory);
    outcome = Outcome::hit_memory;
    return *row;
  }
  const Found found = pilot(store, key, *seat.flight, [&] { return build_row(store, key, build); });
  store.count(found.source);
  outcome = found.source == Source::none ? Outcome::built : outcome_of(found.source);
  return *found.row;
}

std::string get_or_tune(KernelStore& store, const CacheKey& key, const TuningRequest& request) {
  if (store.mode() == CacheMode::off) {
    store.count_search();
    return request.search();
  }
  if (!request.shared) return tune(store, key, request);
  const FlightTable::Seat seat = take_seat(store, key);
  if (!seat.pilot) {
    std::string value = wait_for(*seat.flight)->meta;
    if (!value.empty()) store.count_tuning_hit();
    return value;
  }
  return pilot(store, key, *seat.flight,
               [&] {
                 return Found{std::make_shared<const Row>(Row{tune(store, key, request), {}}),
                              Source::none};
               })
      .row->meta;
}

}  // namespace fuseplan
