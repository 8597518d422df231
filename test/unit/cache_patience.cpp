// SPDX-License-Identifier: MIT
// Another process holds what a store needs and does not let go: that costs one wait, not one for
// each kernel, and is counted and said once.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "cache/single_flight.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kRest{1050};

StoreConfig patient_for(milliseconds lookup, milliseconds store) {
  StoreConfig config;
  config.lookup_patience = lookup;
  config.store_patience = store;
  config.build_patience = milliseconds(50);
  config.memory_bytes = 0;  // so that every look is at the disk
  return config;
}

void build(KernelStore& store, int number) {
  Outcome outcome;
  EXPECT_EQ(get_or_build(
                store, sample_key(number), [&] { return sample_row(number); }, outcome),
            sample_row(number));
}

/// Somebody who sits in the database.
class Holder {
 public:
  Holder(const std::string& path, const char* begin) : shell_(path, sqlite::Access::read_write) {
    shell_.execute(begin);
  }
  ~Holder() { shell_.execute("COMMIT"); }

 private:
  sqlite::Connection shell_;
};

class CachePatience : public ::testing::Test {
 protected:
  /// Taken as another process does that makes this kernel, or is stopped while it does.
  FileLock hold_build(int number) const {
    auto lock =
        FileLock::acquire(open_directory(directory_.path(), true),
                          build_byte(sample_key(number).digest), FileLock::Kind::exclusive, {});
    EXPECT_TRUE(lock && lock->held());
    return std::move(*lock);
  }

  TemporaryDirectory directory_;
};

TEST_F(CachePatience, BuildsAreWaitedForOnce) {
  const FileLock locks[] = {hold_build(1), hold_build(2), hold_build(3)};
  WatchedStore store(directory_.path(), patient_for(milliseconds(250), milliseconds(2500)));
  for (const int number : {1, 2, 3}) build(*store, number);
  EXPECT_EQ(store->stats().builds, 3u);
  EXPECT_EQ(store->stats().stored, 3u);
  EXPECT_EQ(store->stats().busy_timeouts, 1u);
  ASSERT_EQ(store.warnings.size(), 1u);
  EXPECT_NE(store.warnings[0].find("another process"), std::string::npos) << store.warnings[0];
}

TEST_F(CachePatience, BuildsTakeNoLongerThanAFewSeconds) {
  EXPECT_LE(StoreConfig().build_patience, std::chrono::seconds(5));
}

TEST_F(CachePatience, SearchesAreWaitedForAsLongAsTheyMayTake) {
  WatchedStore store(directory_.path(), patient_for(milliseconds(250), milliseconds(2500)));
  std::optional<FileLock> lock(hold_build(1));
  TuningRequest request;
  request.usable = [](const std::string&) { return true; };
  request.search = [] { return std::string("ours"); };
  request.patience = std::chrono::seconds(30);
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(300));
    WatchedStore(directory_.path())->put_tuning(sample_key(1), "theirs");
    lock.reset();
  });
  EXPECT_EQ(get_or_tune(*store, sample_key(1), request), "theirs");
  other.join();
  EXPECT_EQ(store->stats().busy_timeouts, 0u);
  const FileLock forever = hold_build(2);
  request.patience = milliseconds(60);
  EXPECT_EQ(get_or_tune(*store, sample_key(2), request), "ours");
  EXPECT_EQ(store->stats().busy_timeouts, 1u);
}

TEST_F(CachePatience, ALockedDatabaseIsWaitedForOnce) {
  constexpr int kKernels = 50;
  WatchedStore(directory_.path())->put(sample_key(0), sample_row(0));
  WatchedStore store(directory_.path(), patient_for(milliseconds(20), milliseconds(40)));
  const auto begin = Clock::now();
  {
    const Holder holder(directory_ / "kernels-v1.db", "BEGIN EXCLUSIVE");
    for (int i = 1; i <= kKernels; ++i) build(*store, i);
  }
  const auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("%.1f s\n", seconds);
  EXPECT_EQ(store->stats().builds, static_cast<std::uint64_t>(kKernels));
  // After each second of rest one attempt is made, and one more is at the beginning.
  EXPECT_LE(static_cast<double>(store->stats().busy_timeouts), 1 + seconds);
  EXPECT_GE(store->stats().busy_timeouts, 1u);
  EXPECT_EQ(store.warnings.size(), 1u);
  std::this_thread::sleep_for(kRest);
  EXPECT_TRUE(store->find(sample_key(0)));
  build(*store, 100);
  EXPECT_EQ(store->stats().stored, 1u);
}

/// The shortest of a few looks in vain, each after a rest: the machine may be slow once.
milliseconds shortest_look(KernelStore& store) {
  milliseconds shortest = milliseconds::max();
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(kRest);
    const auto begin = Clock::now();
    EXPECT_FALSE(store.find(sample_key(0)));
    const auto taken = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    shortest = std::min(shortest, taken);
  }
  return shortest;
}

TEST_F(CachePatience, LaterAttemptsAreShortUntilOneSucceeds) {
  constexpr milliseconds kPatience(600);
  WatchedStore(directory_.path())->put(sample_key(0), sample_row(0));
  WatchedStore store(directory_.path(), patient_for(kPatience, kPatience));
  const auto wait_in_vain = [&] {
    const auto begin = Clock::now();
    EXPECT_FALSE(store->find(sample_key(0)));
    EXPECT_GE(Clock::now() - begin, kPatience);
  };
  {
    const Holder holder(directory_ / "kernels-v1.db", "BEGIN EXCLUSIVE");
    wait_in_vain();
    EXPECT_LT(shortest_look(*store), kPatience / 2);
  }
  std::this_thread::sleep_for(kRest);
  EXPECT_TRUE(store->find(sample_key(0)));
  const Holder holder(directory_ / "kernels-v1.db", "BEGIN EXCLUSIVE");
  wait_in_vain();
}

// Who holds the lock of writers lets others read, and their success says nothing of writing.
TEST_F(CachePatience, ReadsDoNotRestoreThePatienceOfWrites) {
  constexpr milliseconds kPatience(600);
  WatchedStore(directory_.path())->put(sample_key(0), sample_row(0));
  WatchedStore store(directory_.path(), patient_for(milliseconds(250), kPatience));
  const Holder holder(directory_ / "kernels-v1.db", "BEGIN IMMEDIATE");
  store->put(sample_key(1), sample_row(1));
  EXPECT_EQ(store->stats().busy_timeouts, 1u);
  milliseconds shortest = milliseconds::max();
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(kRest);
    EXPECT_TRUE(store->find(sample_key(0)));
    const auto begin = Clock::now();
    store->put(sample_key(2 + i), sample_row(2 + i));
    shortest = std::min(shortest, std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
  }
  EXPECT_LT(shortest, kPatience / 2);
  EXPECT_EQ(store->stats().dropped, 4u);
}

}  // namespace
}  // namespace fuseplan::test
