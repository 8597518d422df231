// SPDX-License-Identifier: MIT
// Database and journal stay below the cap, and what is used stays in.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "support/cache_rows.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

constexpr std::uint64_t kCap = 4 << 20;
constexpr std::size_t kBytes = 30000;
// Room for 115 rows; every 48 rows written, and a few more while uses wait to be written, all hot
// rows are used.
constexpr int kWriters = 4, kRowsEach = 100, kHot = 20, kTouchEvery = 12;

off_t size_of_file(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

StoreConfig capped() {
  StoreConfig config;
  config.cap_bytes = kCap;
  config.memory_bytes = 0;
  return config;
}

int hot(int i) { return 100000 + i; }

void write_rows(const std::string& directory, int writer) {
  WatchedStore store(directory, capped());
  for (int i = 0; i < kRowsEach; ++i) {
    const int number = writer * 1000 + i;
    store->put(sample_key(number), sample_row(number, kBytes));
    if (i % kTouchEvery != 0) continue;
    for (int h = 0; h < kHot; ++h)
      EXPECT_EQ(store->find(sample_key(hot(h))), sample_row(hot(h), kBytes)) << "hot row " << h;
  }
  const StoreStats stats = store->stats();
  EXPECT_EQ(stats.stored, static_cast<std::uint64_t>(kRowsEach));
  EXPECT_EQ(stats.dropped, 0u);
  EXPECT_TRUE(store.warnings.empty()) << store.warnings[0];
}

void read_rows(const std::string& directory, const std::atomic<bool>& stop,
               std::atomic<int>& found) {
  WatchedStore store(directory, capped());
  Random random(1);
  while (!stop) {
    const auto number = static_cast<std::uint64_t>(random.between(0, kWriters - 1) * 1000 +
                                                   random.between(0, kRowsEach - 1));
    if (const auto row = store->find(sample_key(number))) {
      EXPECT_EQ(*row, sample_row(number, kBytes));
      ++found;
    }
  }
}

TEST(CacheCap, HoldsOnDisk) {
  TemporaryDirectory directory;
  const std::string database = directory / "kernels-v1.db";
  {
    WatchedStore store(directory.path(), capped());
    for (int h = 0; h < kHot; ++h) store->put(sample_key(hot(h)), sample_row(hot(h), kBytes));
  }
  Shared<std::atomic<bool>> stop;
  Shared<std::atomic<int>> found;
  const pid_t reader = start_child([&] { read_rows(directory.path(), *stop, *found); });
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w)
    writers.push_back(start_child([&, w] { write_rows(directory.path(), w); }));
  std::atomic<bool> done{false};
  off_t largest = 0;
  int samples = 0;
  std::thread watcher([&] {
    while (!done) {
      largest = std::max(largest, size_of_file(database) + size_of_file(database + "-journal"));
      ++samples;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  for (const pid_t writer : writers) EXPECT_TRUE(succeeded(writer));
  done = true;
  watcher.join();
  *stop = true;
  EXPECT_TRUE(succeeded(reader));

  WatchedStore store(directory.path(), capped());
  for (int h = 0; h < kHot; ++h) EXPECT_TRUE(store->find(sample_key(hot(h)))) << "hot row " << h;
  const auto rows = static_cast<int>(store->stats().rows);
  std::printf("%d rows written, %d left; at most %.2f of the cap in %d samples; %d rows read\n",
              kHot + kWriters * kRowsEach, rows, static_cast<double>(largest) / kCap, samples,
              found->load());
  EXPECT_LE(largest, static_cast<off_t>(kCap + kCap / 10));
  EXPECT_GE(samples, 100);
  EXPECT_GE(rows, 100);
  EXPECT_GE(*found, 50);
  EXPECT_TRUE(store->verify(true).problems.empty());
}

}  // namespace
}  // namespace fuseplan::test
