// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>

#include "cache/fork.hpp"
#include "cache/row.hpp"

namespace fuseplan {

/// One build under way in this process, and those who wait for it.
struct Flight {
  std::condition_variable landed;
  bool done = false;
  std::shared_ptr<const Row> row;
  std::exception_ptr error;
  Generation generation;
};

/// The builds under way, by key. Used under fork_state().memory.
class FlightTable {
 public:
  struct Seat {
    std::shared_ptr<Flight> flight;
    bool pilot;  ///< the caller has to build
  };

  Seat join(const Digest& key) {
    if (generation_.stale()) {
      // Their pilots stayed in the parent. Destroying a condition others waited on would hang.
      (void)flights_.release();
      flights_ = std::make_unique<Map>();
      generation_ = Generation();
    }
    auto& flight = (*flights_)[key];
    if (flight) return {flight, false};
    flight = std::make_shared<Flight>();
    return {flight, true};
  }

  void land(const Digest& key, Flight& flight) {
    if (flight.generation.stale()) return;  // the build callback forked, and this is the child
    flight.done = true;
    flight.landed.notify_all();
    flights_->erase(key);
  }

 private:
  using Map = std::map<Digest, std::shared_ptr<Flight>>;
  std::unique_ptr<Map> flights_ = std::make_unique<Map>();
  Generation generation_;
};

}  // namespace fuseplan
