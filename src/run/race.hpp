// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace fuseplan {

/// How a race gets its competitors to run, and what time it is. Microseconds throughout.
struct Track {
  std::function<bool(std::size_t index)> prepare;             ///< false: that one cannot run
  std::function<double(std::size_t index, int repeats)> run;  ///< time of so many runs together
  std::function<double()> now;
};

struct RaceResult {
  std::size_t winner;
  double winner_us, first_us;  ///< medians of one run
  int timed;                   ///< competitors that ran
  bool complete;               ///< nobody was left out for want of time
};

/// Finds the fastest of `count` competitors within about `budget_us`: it is exceeded by one
/// competitor's preparation and run at most. Each runs once in a heat, and those near the best of
/// it take turns in a final, so that what disturbs the machine disturbs all alike; medians decide.
/// The first is the one to beat, and keeps its place unless another is clearly faster. Nothing if
/// nobody can run.
std::optional<RaceResult> race(std::size_t count, const Track& track, double budget_us);

}  // namespace fuseplan
