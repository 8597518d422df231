// SPDX-License-Identifier: MIT
// kill -9 at any moment loses nothing that was stored, and damages nothing.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "cache/single_flight.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

constexpr int kKills = 250;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Progress {
  std::atomic<int> stored{0};  // rows 0 ... stored - 1 were acknowledged
};

std::size_t size_of_row(int number) { return 1000 + static_cast<std::size_t>(number) * 37 % 9000; }

// Stores one row after the other until it is killed.
void store_for_ever(const std::string& directory, Progress& progress) {
  WatchedStore store(directory);
  for (;;) {
    const int number = progress.stored;
    store->put(sample_key(number), sample_row(number, size_of_row(number)));
    if (store->stats().dropped > 0) ::_exit(3);
    progress.stored = number + 1;
  }
}

off_t journal_bytes(const std::string& directory) {
  struct stat info = {};
  return ::stat((directory + "/kernels-v1.db-journal").c_str(), &info) == 0 ? info.st_size : 0;
}

TEST(CacheKill, LosesNothingThatWasStored) {
  TemporaryDirectory directory;
  Shared<Progress> progress;
  Random random(1);
  int in_transaction = 0, checked = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const int before = progress->stored;
    const pid_t child = start_child([&] { store_for_ever(directory.path(), *progress); });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (progress->stored < before + 5 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(microseconds(200));
    std::this_thread::sleep_for(microseconds(random.between(0, 5000)));
    ::kill(child, SIGKILL);
    const int status = wait_for_child(child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, status " << status;
    if (journal_bytes(directory.path()) > 0) ++in_transaction;

    WatchedStore store(directory.path());
    for (int number = before; number < progress->stored; ++number, ++checked)
      ASSERT_EQ(store->find(sample_key(number)), sample_row(number, size_of_row(number)))
          << "row " << number << " lost at kill " << kill;
    EXPECT_EQ(store->stats().set_aside, 0u);
    if (kill % 20 == 0) {
      EXPECT_TRUE(store->verify(true).problems.empty());
    }
  }
  WatchedStore store(directory.path());
  const VerifyReport report = store->verify(true);
  EXPECT_TRUE(report.problems.empty());
  EXPECT_GE(report.checked, static_cast<std::uint64_t>(progress->stored));
  EXPECT_EQ(store->stats().set_aside, 0u);
  std::printf("%d kills, %d inside a transaction, %d rows acknowledged\n", kKills, in_transaction,
              progress->stored.load());
  EXPECT_GE(checked, 1250);
  EXPECT_GE(in_transaction, 25);
}

// The builder dies in its build; whoever waits for it takes over.
TEST(CacheKill, AKilledBuilderIsReplaced) {
  for (int round = 0; round < 12; ++round) {
    TemporaryDirectory directory;
    Shared<std::atomic<int>> building;
    const pid_t builder = start_child([&] {
      WatchedStore store(directory.path());
      Outcome outcome;
      get_or_build(
          *store, sample_key(1),
          [&]() -> Row {
            ++*building;
            for (;;) ::pause();
          },
          outcome);
    });
    while (*building == 0) std::this_thread::sleep_for(milliseconds(1));
    Shared<std::atomic<int>> waiting;
    Shared<std::atomic<std::chrono::steady_clock::time_point>> taken_over;
    const pid_t waiter = start_child([&] {
      WatchedStore store(directory.path());
      ++*waiting;
      Outcome outcome;
      const Row row = get_or_build(
          *store, sample_key(1),
          [&] {
            *taken_over = std::chrono::steady_clock::now();
            return sample_row(1);
          },
          outcome);
      EXPECT_EQ(row, sample_row(1));
      EXPECT_EQ(outcome, Outcome::built);
      EXPECT_EQ(store->stats().stored, 1u);
    });
    while (*waiting == 0) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(::waitpid(waiter, nullptr, WNOHANG), 0) << "did not wait for the builder";
    const auto killed = std::chrono::steady_clock::now();
    ::kill(builder, SIGKILL);
    wait_for_child(builder);
    EXPECT_TRUE(succeeded(waiter));
    EXPECT_GE(taken_over->load(), killed) << "built beside a living builder";
    EXPECT_LE(taken_over->load() - killed, std::chrono::seconds(1));
  }
}

}  // namespace
}  // namespace fuseplan::test
