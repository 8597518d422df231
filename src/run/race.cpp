// SPDX-License-Identifier: MIT
#include "run/race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fuseplan {
namespace {

constexpr double kHeatShare = 0.6;  // of the budget; the rest is the final's
constexpr double kSampleUs = 100;   // a sample is at least so long, clocks and calls are not free
constexpr double kWarmUs = 20e3;    // runs from this length on need no run before them
constexpr double kNear = 1.25;      // within this of the best of the heat: in the final
constexpr std::size_t kFinalists = 8;  // at most
constexpr double kStillNear = 1.06;    // after kFirstRounds
constexpr int kFirstRounds = 3, kRounds = 15;
constexpr double kClearly = 1.02;

struct Runner {
  std::size_t index;
  int repeats;
  std::vector<double> samples;

  double median() const {
    std::vector<double> sorted = samples;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }
};

void sample(Runner& runner, const Track& track) {
  // Others ran in between: a short run has to find its data where it will find it in a loop.
  if (runner.repeats > 1) track.run(runner.index, 1);
  runner.samples.push_back(track.run(runner.index, runner.repeats) / runner.repeats);
}

Runner first_run(std::size_t index, const Track& track) {
  Runner runner{index, 1, {}};
  double once = track.run(index, 1);
  if (once < kWarmUs) once = track.run(index, 1);
  runner.repeats =
      static_cast<int>(std::clamp(std::ceil(kSampleUs / std::max(once, 0.01)), 1.0, 1e4));
  if (runner.repeats > 1) {
    sample(runner, track);
  } else {
    runner.samples.push_back(once);
  }
  return runner;
}

struct Heat {
  std::vector<Runner> runners;
  bool complete = true;
};

Heat run_heat(std::size_t count, const Track& track, double deadline) {
  Heat heat;
  double longest = 0;  // preparing and running one
  for (std::size_t i = 0; i < count; ++i) {
    const double start = track.now();
    if (!heat.runners.empty() && start + longest > deadline) {
      heat.complete = false;
      break;
    }
    if (!track.prepare(i)) continue;
    heat.runners.push_back(first_run(i, track));
    longest = std::max(longest, track.now() - start);
  }
  return heat;
}

// Keeps the first, whom all are compared with, and of the others those within `factor` of the best.
void drop_slower(std::vector<Runner>& runners, double factor, std::size_t most) {
  double best = std::numeric_limits<double>::max();
  for (const Runner& runner : runners) best = std::min(best, runner.median());
  const auto others = runners.begin() + 1;
  std::stable_sort(others, runners.end(),
                   [](const Runner& a, const Runner& b) { return a.median() < b.median(); });
  runners.erase(std::find_if(others, runners.end(),
                             [&](const Runner& r) { return r.median() > factor * best; }),
                runners.end());
  if (runners.size() > most)
    runners.erase(runners.begin() + static_cast<std::ptrdiff_t>(most), runners.end());
}

void run_final(std::vector<Runner>& runners, const Track& track, double deadline) {
  for (int round = 0; round < kRounds && runners.size() > 1; ++round) {
    for (Runner& runner : runners) {
      if (track.now() + runner.median() * (runner.repeats + 1) > deadline) return;
      sample(runner, track);
    }
    if (round + 1 == kFirstRounds) drop_slower(runners, kStillNear, kFinalists);
  }
}

}  // namespace

std::optional<RaceResult> race(std::size_t count, const Track& track, double budget_us) {
  const double start = track.now();
  Heat heat = run_heat(count, track, start + kHeatShare * budget_us);
  std::vector<Runner>& runners = heat.runners;
  if (runners.empty()) return std::nullopt;
  const int timed = static_cast<int>(runners.size());
  drop_slower(runners, kNear, kFinalists);
  run_final(runners, track, start + budget_us);
  const double first = runners.front().median();
  const auto best =
      std::min_element(runners.begin(), runners.end(),
                       [](const Runner& a, const Runner& b) { return a.median() < b.median(); });
  const Runner& winner = first > kClearly * best->median() ? *best : runners.front();
  return RaceResult{winner.index, winner.median(), first, timed, heat.complete};
}

}  // namespace fuseplan
