// SPDX-License-Identifier: MIT
// Many processes on one cold cache: one build of each kernel, and never "database is locked".
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "cache/single_flight.hpp"
#include "cache/sqlite.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

constexpr int kProcesses = 8, kThreads = 4;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

StoreConfig without_memory() {
  StoreConfig config;
  config.memory_bytes = 0;
  return config;
}

// work(store, worker) on kThreads threads of kProcesses processes that start together, each process
// with a store of its own; finish(store) when its threads are done.
template <typename Work, typename Finish>
bool together(const std::string& directory, const StoreConfig& config, const Work& work,
              const Finish& finish) {
  Shared<std::atomic<int>> ready;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p)
    children.push_back(start_child([&, p] {
      WatchedStore store(directory, config);
      ++*ready;
      while (*ready < kProcesses) std::this_thread::sleep_for(microseconds(100));
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] { work(*store, p * kThreads + t); });
      for (std::thread& thread : threads) thread.join();
      finish(store);
    }));
  bool all = true;
  for (const pid_t child : children) all &= succeeded(child);
  return all;
}

TEST(CacheContention, EachKernelIsBuiltOnce) {
  constexpr int kRounds = 3, kPlans = 50;
  for (int round = 0; round < kRounds; ++round) {
    TemporaryDirectory directory;
    Shared<std::array<std::atomic<int>, kPlans>> builds;
    Shared<std::atomic<int>> calls, wrong;
    const auto work = [&](KernelStore& store, int worker) {
      Random order(static_cast<std::uint64_t>(worker + 100 * round));
      const std::int64_t shift = order.between(0, kPlans - 1);
      for (int i = 0; i < kPlans; ++i) {
        const int plan = static_cast<int>((i + (worker % 2 == 0 ? 0 : shift)) % kPlans);
        Outcome outcome;
        const Row row = get_or_build(
            store, sample_key(plan),
            [&] {
              ++(*builds)[plan];
              std::this_thread::sleep_for(milliseconds(1));
              return sample_row(plan);
            },
            outcome);
        *wrong += row != sample_row(plan);
        ++*calls;
      }
    };
    EXPECT_TRUE(together(directory.path(), {}, work, [](WatchedStore& store) {
      EXPECT_EQ(store->stats().rows, 50u);
      EXPECT_TRUE(store.warnings.empty()) << store.warnings[0];
    }));
    const int total = std::accumulate(builds->begin(), builds->end(), 0);
    std::printf("round %d: %d calls, %d builds\n", round, calls->load(), total);
    EXPECT_EQ(*calls, kProcesses * kThreads * kPlans);
    EXPECT_EQ(total, kPlans);
    EXPECT_EQ(*wrong, 0);
  }
}

struct Latencies {
  static constexpr int kMost = 10000;
  std::array<std::atomic<int>, kMost> microseconds;
  std::atomic<int> count{0};

  template <typename Operation>
  void time(const Operation& operation) {
    const auto begin = Clock::now();
    operation();
    const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    microseconds[count++ % kMost] = static_cast<int>(taken.count());
  }
  double milliseconds_at(double share) {
    std::vector<int> sorted(microseconds.begin(), microseconds.begin() + count);
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(share * (count - 1))] / 1000.0;
  }
};

struct Load {
  static constexpr int kOperations = 126;  // of each thread; every other one stores
  Latencies latencies;
  std::atomic<int> found{0}, wrong{0};
};

// Every thread stores rows of its own and looks for everybody's.
void run_load(Load& load, KernelStore& store, int worker) {
  Random random(static_cast<std::uint64_t>(worker));
  for (int i = 0; i < Load::kOperations; i += 2) {
    const auto mine = static_cast<std::uint64_t>(worker * 1000 + i);
    const auto other = static_cast<std::uint64_t>(
        random.between(0, kProcesses * kThreads - 1) * 1000 + random.between(0, i / 2) * 2);
    load.latencies.time([&] { store.put(sample_key(mine), sample_row(mine, 5000)); });
    load.latencies.time([&] {
      const auto row = store.find(sample_key(other));
      load.found += row.has_value();
      load.wrong += row && *row != sample_row(other, 5000);
    });
  }
}

void expect_nothing_dropped(WatchedStore& store) {
  const StoreStats stats = store->stats();
  EXPECT_EQ(stats.busy_timeouts, 0u);
  EXPECT_EQ(stats.dropped, 0u);
  EXPECT_EQ(stats.stored, kThreads * Load::kOperations / 2u);
  EXPECT_TRUE(store.warnings.empty()) << store.warnings[0];
}

double processor_seconds_of_children() {
  rusage usage = {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// By how much the machine runs this slower than if it had nothing else to do: 1 on an idle one.
// From the same load with a cache for each process, so that none waits for another.
double slowdown() {
  TemporaryDirectory apart;
  Shared<Load> load;
  const double before = processor_seconds_of_children();
  const auto begin = Clock::now();
  EXPECT_TRUE(together(
      apart.path(), without_memory(),
      [&](KernelStore&, int worker) {
        WatchedStore own(apart / std::to_string(worker / kThreads), without_memory());
        run_load(*load, *own, worker);
      },
      [](WatchedStore&) {}));
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  const double processors = std::min<double>(kProcesses, std::thread::hardware_concurrency());
  return std::max(1.0, wall * processors / (processor_seconds_of_children() - before));
}

TEST(CacheContention, NobodySeesALockedDatabase) {
  TemporaryDirectory directory;
  Shared<Load> load;
  const double slow_before = slowdown();
  // The deadlines are made for a machine that is there for us.
  StoreConfig config = without_memory();
  config.lookup_patience = milliseconds(std::lround(250 * slow_before));
  config.store_patience = milliseconds(std::lround(2500 * slow_before));
  EXPECT_TRUE(together(
      directory.path(), config,
      [&](KernelStore& store, int worker) { run_load(*load, store, worker); },
      expect_nothing_dropped));
  const double slow = std::max(slow_before, slowdown());
  Latencies& latencies = load->latencies;
  // Said, not judged: what waits longer than the patience above gives up, which fails.
  std::printf(
      "%d operations, %d rows found; p50 %.2f ms, p99 %.1f ms, worst %.0f ms; "
      "the machine is slowed down %.1f times by others\n",
      latencies.count.load(), load->found.load(), latencies.milliseconds_at(0.5),
      latencies.milliseconds_at(0.99), latencies.milliseconds_at(1), slow);
  EXPECT_GE(latencies.count, 4000);
  EXPECT_GE(load->found, 500);
  EXPECT_EQ(load->wrong, 0);
  EXPECT_TRUE(WatchedStore(directory.path())->verify(true).problems.empty());
}

// The same load without BEGIN IMMEDIATE and without our own retry: what the test above would see if
// it saw nothing.
TEST(CacheContention, ControlPlainTransactionsCollide) {
  constexpr int kOperations = 20;
  TemporaryDirectory directory;
  WatchedStore(directory.path())->put(sample_key(1), sample_row(1));
  Shared<std::atomic<int>> busy;
  const auto work = [&](KernelStore& store, int worker) {
    // Opening sets the journal mode, which collides as well, and is not what is counted here.
    std::optional<sqlite::Connection> opened;
    while (!opened) try {
        opened.emplace(store.location(), sqlite::Access::read_write);
      } catch (const CacheFault& fault) {
        if (fault.fault() != Fault::busy) throw;
      }
    sqlite::Connection& database = *opened;
    for (int i = 0; i < kOperations; ++i) {
      try {
        database.execute("BEGIN");
        const std::int64_t rows = database.integer("SELECT count(*) FROM usage");
        // Two cores seldom overlap between reading and writing by themselves.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        database.query("INSERT INTO usage VALUES (?, 1, ?)")
            .bind(std::int64_t{worker * 1000 + i + 10})
            .bind(rows)
            .run();
        database.execute("COMMIT");
      } catch (const CacheFault& fault) {
        *busy += fault.fault() == Fault::busy;
        if (database.in_transaction()) database.execute("ROLLBACK");
      }
    }
  };
  EXPECT_TRUE(together(directory.path(), {}, work, [](WatchedStore&) {}));
  std::printf("%d of %d plain transactions failed\n", busy->load(),
              kProcesses * kThreads * kOperations);
  EXPECT_GE(*busy, kProcesses * kThreads * kOperations / 4);
}

// Somebody sits in the database with a shell: everything works, only more slowly.
TEST(CacheContention, AnExclusiveHolderOnlySlowsThingsDown) {
  TemporaryDirectory directory;
  WatchedStore(directory.path())->put(sample_key(0), sample_row(0));
  const std::string path = directory / "kernels-v1.db";
  const pid_t holder = start_child([&] {
    Random random(7);
    sqlite::Connection shell(path, sqlite::Access::read_write);
    for (;;) {
      try {
        shell.execute("BEGIN EXCLUSIVE");
      } catch (const CacheFault&) {
        continue;
      }
      std::this_thread::sleep_for(milliseconds(random.between(0, 1500)));
      shell.execute("COMMIT");
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  StoreConfig config = without_memory();
  config.lookup_patience = milliseconds(100);
  config.store_patience = milliseconds(500);
  Shared<std::atomic<int>> calls, wrong, timeouts;
  const auto work = [&](KernelStore& store, int worker) {
    for (int i = 0; i < 4; ++i) {
      const int plan = (worker + i) % 16;
      Outcome outcome;
      const Row row = get_or_build(
          store, sample_key(plan), [&] { return sample_row(plan); }, outcome);
      *wrong += row != sample_row(plan);
      ++*calls;
      std::this_thread::sleep_for(milliseconds(300));  // so that it takes longer than one rest
    }
  };
  EXPECT_TRUE(together(directory.path(), config, work, [&](WatchedStore& store) {
    *timeouts += static_cast<int>(store->stats().busy_timeouts);
    EXPECT_LE(store.warnings.size(), 1u);
  }));
  ::kill(holder, SIGKILL);
  wait_for_child(holder);
  std::printf("%d calls, %d timeouts\n", calls->load(), timeouts->load());
  EXPECT_EQ(*calls, kProcesses * kThreads * 4);
  EXPECT_EQ(*wrong, 0);
  EXPECT_GE(*timeouts, 4) << "the holder was never in the way";
  EXPECT_TRUE(WatchedStore(directory.path())->verify(true).problems.empty());
}

}  // namespace
}  // namespace fuseplan::test
