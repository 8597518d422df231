// SPDX-License-Identifier: MIT
#include "run/race.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/random.hpp"

namespace fuseplan {
namespace {

/// Competitors of known speed under a clock that only they move.
struct Stadium {
  std::vector<double> speeds;  // microseconds of one run; below 0: cannot run
  double preparation = 10;
  double noise = 0;  // runs take up to so much longer, as a share
  double clock = 0;
  std::vector<int> runs = {};
  test::Random random = test::Random(7);

  std::optional<RaceResult> race(double budget) {
    runs.assign(speeds.size(), 0);
    const Track track{[&](std::size_t i) { return clock += preparation, speeds[i] >= 0; },
                      [&](std::size_t i, int repeats) {
                        const double us = speeds[i] * repeats * (1 + noise * random.uniform(0, 1));
                        runs[i] += repeats;
                        clock += us;
                        return us;
                      },
                      [&] { return clock; }};
    return fuseplan::race(speeds.size(), track, budget);
  }
};

std::optional<RaceResult> quiet_race(std::vector<double> speeds, double budget = 1e6) {
  return Stadium{.speeds = std::move(speeds)}.race(budget);
}

TEST(Race, FindsTheFastestThroughNoise) {
  for (int trial = 0; trial < 50; ++trial) {
    Stadium stadium{.speeds = {50, 48, 70, 40, 43, 400}, .noise = 0.2};
    stadium.random = test::Random(static_cast<std::uint64_t>(trial));
    const auto result = stadium.race(400e3);
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->winner == 3 || result->winner == 4) << result->winner;
    EXPECT_EQ(result->timed, 6);
    EXPECT_TRUE(result->complete);
    EXPECT_GE(result->first_us, 50);
    EXPECT_LE(result->first_us, 60);
    EXPECT_LT(result->winner_us, result->first_us);
  }
}

TEST(Race, TheFirstKeepsItsPlaceUnlessBeatenClearly) {
  EXPECT_EQ((quiet_race({100, 99, 100}))->winner, 0u);
  EXPECT_EQ((quiet_race({100, 95, 100}))->winner, 1u);
}

TEST(Race, LeavesOutWhoCannotRun) {
  EXPECT_EQ((quiet_race({-1, 30, 20}))->winner, 2u);
  EXPECT_EQ((quiet_race({-1, 30, 20}))->timed, 2);
  EXPECT_FALSE((quiet_race({-1, -1})));
  EXPECT_FALSE((quiet_race({})));
}

TEST(Race, ExceedsItsBudgetByOneCompetitorAtMost) {
  for (const double budget : {1e2, 1e3, 1e4, 1e5, 1e6})
    for (const double us : {0.5, 80.0, 3e3, 30e3}) {
      Stadium stadium{.speeds = std::vector<double>(40, us), .preparation = 200};
      const auto result = stadium.race(budget);
      ASSERT_TRUE(result);
      const double one = 200 + 4 * std::max(us, 150.0);
      EXPECT_LE(stadium.clock, budget + one) << budget << " of " << us;
      EXPECT_EQ(result->complete, result->timed == 40);
      EXPECT_GE(result->timed, 1);
    }
  EXPECT_EQ(quiet_race(std::vector<double>(40, 30e3), 1e4)->timed, 1);
  EXPECT_EQ(quiet_race(std::vector<double>(40, 10), 1e6)->timed, 40);
}

TEST(Race, SpendsNoFinalOnTheSlow) {
  Stadium stadium{.speeds = {1000, 400, 2000, 410}};
  EXPECT_EQ(stadium.race(1e6)->winner, 1u);
  EXPECT_LE(stadium.runs[2], 2) << "the heat was enough";
  EXPECT_GE(stadium.runs[3], 5);
  EXPECT_GE(stadium.runs[0], 5) << "the gain is told of both in one race";
}

}  // namespace
}  // namespace fuseplan
