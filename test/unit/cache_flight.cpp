// SPDX-License-Identifier: MIT
#include "cache/single_flight.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "base/status.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

using std::chrono::milliseconds;

// Runs body(thread) on `count` threads at once.
template <typename Body>
void on_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

TEST(CacheFlight, SaysWhereTheRowCameFrom) {
  TemporaryDirectory directory;
  const auto build = [] { return sample_row(1); };
  Outcome outcome;
  WatchedStore first(directory.path());
  EXPECT_EQ(get_or_build(*first, sample_key(1), build, outcome), sample_row(1));
  EXPECT_EQ(outcome, Outcome::built);
  EXPECT_EQ(get_or_build(*first, sample_key(1), build, outcome), sample_row(1));
  EXPECT_EQ(outcome, Outcome::hit_memory);
  WatchedStore second(directory.path());
  EXPECT_EQ(get_or_build(*second, sample_key(1), build, outcome), sample_row(1));
  EXPECT_EQ(outcome, Outcome::hit_disk);
  EXPECT_EQ(first->stats().builds, 1u);
  EXPECT_EQ(first->stats().misses, 1u);
  EXPECT_EQ(second->stats().builds, 0u);
  EXPECT_EQ(second->stats().hits_disk, 1u);
}

TEST(CacheFlight, ThreadsShareOneBuild) {
  for (const CacheMode mode : {CacheMode::rw, CacheMode::ro, CacheMode::mem}) {
    TemporaryDirectory directory;
    StoreConfig config;
    config.mode = mode;
    WatchedStore store(directory.path(), config);
    std::atomic<int> builds{0}, built{0}, shared{0}, wrong{0};
    on_threads(16, [&](int) {
      Outcome outcome;
      const Row row = get_or_build(
          *store, sample_key(1),
          [&] {
            ++builds;
            std::this_thread::sleep_for(milliseconds(20));
            return sample_row(1);
          },
          outcome);
      ++(outcome == Outcome::built ? built : shared);
      if (row != sample_row(1)) ++wrong;
    });
    EXPECT_EQ(builds, 1);
    EXPECT_EQ(built, 1);
    EXPECT_EQ(shared, 15);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(store->stats().hits() + store->stats().misses, 16u);
  }
}

// Two objects of one directory are to each other what two processes are.
TEST(CacheFlight, StoresOfOneDirectoryShareOneBuild) {
  TemporaryDirectory directory;
  WatchedStore left(directory.path()), right(directory.path());
  std::atomic<int> builds{0}, wrong{0}, calls{0};
  on_threads(8, [&](int t) {
    for (int i = 0; i < 25; ++i) {
      Outcome outcome;
      const Row row = get_or_build(
          t % 2 == 0 ? *left : *right, sample_key(i),
          [&] {
            ++builds;
            std::this_thread::sleep_for(milliseconds(1));
            return sample_row(i);
          },
          outcome);
      if (row != sample_row(i)) ++wrong;
      ++calls;
    }
  });
  std::printf("%d calls, %d builds\n", calls.load(), builds.load());
  EXPECT_EQ(calls, 200);
  EXPECT_EQ(builds, 25);
  EXPECT_EQ(wrong, 0);
}

TEST(CacheFlight, AFailedBuildFailsItsWaitersAndIsTriedAgain) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  std::atomic<int> started{0}, failures{0};
  on_threads(4, [&](int) {
    Outcome outcome;
    try {
      get_or_build(
          *store, sample_key(1),
          [&]() -> Row {
            ++started;
            std::this_thread::sleep_for(milliseconds(30));
            fail(Status::NotImplemented, "no kernel of this shape");
          },
          outcome);
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "no kernel of this shape");
      ++failures;
    }
  });
  EXPECT_EQ(failures, 4);
  EXPECT_LE(started, 4);
  Outcome outcome;
  const auto build = [] { return sample_row(1); };
  EXPECT_EQ(get_or_build(*store, sample_key(1), build, outcome), sample_row(1));
  EXPECT_EQ(outcome, Outcome::built);
  EXPECT_EQ(store->stats().stored, 1u);
}

TEST(CacheFlight, OffBuildsEveryTime) {
  StoreConfig config;
  config.mode = CacheMode::off;
  WatchedStore store("/nowhere", config);
  int builds = 0;
  Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    get_or_build(
        *store, sample_key(1), [&] { return ++builds, sample_row(1); }, outcome);
    EXPECT_EQ(outcome, Outcome::built);
  }
  EXPECT_EQ(builds, 3);
}

TEST(CacheFlight, ABuildMayAskForOtherKeys) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  Outcome outcome, inner;
  const Row row = get_or_build(
      *store, sample_key(1),
      [&] {
        return get_or_build(
            *store, sample_key(2), [] { return sample_row(2); }, inner);
      },
      outcome);
  EXPECT_EQ(row, sample_row(2));
  EXPECT_EQ(outcome, Outcome::built);
  EXPECT_EQ(inner, Outcome::built);
}

}  // namespace
}  // namespace fuseplan::test
