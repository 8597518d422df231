// SPDX-License-Identifier: MIT
// What goes when the database is full, and how large its file may be: for kernels and tuning
// results alike, for rows that damage left without a place in the order, and for a cap that
// changes.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "support/cache_rows.hpp"
#include "support/hooked_disk.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

constexpr std::uint64_t kCap = 1000000;

class CacheRoom : public ::testing::Test {
 protected:
  static StoreConfig capped(std::uint64_t cap = kCap) {
    StoreConfig config;
    config.cap_bytes = cap;
    config.memory_bytes = 0;
    return config;
  }
  StoreConfig shared(std::uint64_t cap) const {
    StoreConfig config = capped(cap);
    config.directory = directory_.path();
    return config;
  }
  static void put_kernels(KernelStore& store, int first, int count) {
    for (int i = first; i < first + count; ++i) store.put(sample_key(i), sample_row(i, 20000));
  }
  static void put_tuning(KernelStore& store, int first, int count, std::size_t bytes) {
    for (int i = first; i < first + count; ++i)
      store.put_tuning(sample_key(i), std::string(bytes, 'v'));
  }

  std::string database() const { return directory_ / "kernels-v1.db"; }
  std::uint64_t file_bytes() const { return std::filesystem::file_size(database()); }
  void sql(const char* script) const {
    sqlite::Connection(database(), sqlite::Access::read_write).execute(script);
  }
  std::int64_t number(const char* query) const {
    return sqlite::Connection(database(), sqlite::Access::read_only).integer(query);
  }
  std::int64_t tuning_bytes() const { return number("SELECT sum(length(value)) FROM tuning"); }

  TemporaryDirectory directory_;
};

TEST_F(CacheRoom, TuningResultsGiveWayToKernels) {
  WatchedStore store(directory_.path(), capped());
  put_tuning(*store, 0, 100, 10000);
  EXPECT_EQ(store->stats().dropped, 0u);
  EXPECT_GT(tuning_bytes(), 500000) << "nobody else needs the room";
  put_kernels(*store, 0, 60);
  const StoreStats stats = store->stats();
  EXPECT_EQ(stats.stored, 60u);
  EXPECT_EQ(stats.dropped, 0u);
  EXPECT_GE(stats.rows, 20u);
  EXPECT_LE(tuning_bytes(), 250000);
  EXPECT_GE(tuning_bytes(), 200000) << "a quarter is theirs";
  WatchedStore reader(directory_.path());
  EXPECT_FALSE(reader->find_tuning(sample_key(0)));
  EXPECT_TRUE(reader->find_tuning(sample_key(99))) << "the oldest go first";
  EXPECT_TRUE(store.warnings.empty());
  EXPECT_LE(file_bytes(), kCap);
}

TEST_F(CacheRoom, KernelsGiveWayToTuningResults) {
  WatchedStore store(directory_.path(), capped());
  put_kernels(*store, 0, 60);
  const std::uint64_t evicted = store->stats().evicted;
  put_tuning(*store, 0, 100, 2000);
  EXPECT_EQ(store->stats().dropped, 0u);
  EXPECT_GT(store->stats().evicted, evicted);
  EXPECT_EQ(number("SELECT count(*) FROM tuning"), 100);
  EXPECT_FALSE(store->find(sample_key(30)));
  EXPECT_TRUE(store->find(sample_key(59)));
  EXPECT_LE(file_bytes(), kCap);
}

TEST_F(CacheRoom, ATuningResultLargerThanAQuarterIsNotStored) {
  WatchedStore store(directory_.path(), capped());
  put_tuning(*store, 0, 1, 260000);
  EXPECT_EQ(store->stats().dropped, 1u);
  EXPECT_EQ(number("SELECT count(*) FROM tuning"), 0);
}

TEST_F(CacheRoom, KernelsWithoutAPlaceInTheOrderGoFirst) {
  {
    WatchedStore store(directory_.path(), capped());
    put_kernels(*store, 0, 34);
  }
  sql("DELETE FROM usage WHERE id BETWEEN 11 AND 30; INSERT INTO usage VALUES (1000, 1, 1)");
  WatchedStore store(directory_.path(), capped());
  put_kernels(*store, 100, 20);
  EXPECT_EQ(store->stats().dropped, 0u);
  EXPECT_FALSE(store->find(sample_key(10)));
  EXPECT_TRUE(store->find(sample_key(0)));
  put_kernels(*store, 200, 100);
  EXPECT_EQ(store->stats().dropped, 0u);
  EXPECT_EQ(number("SELECT count(*) FROM kernel WHERE id NOT IN (SELECT id FROM usage)"), 0);
}

TEST_F(CacheRoom, TheOrderOfUseDoesNotOverflow) {
  WatchedStore(directory_.path(), capped())->put(sample_key(1), sample_row(1));
  for (const char* last : {"9223372036854775807", "9223372036854775700"}) {
    sql(("UPDATE usage SET seq = " + std::string(last)).c_str());
    {
      WatchedStore store(directory_.path(), capped());
      put_kernels(*store, last[18] == '7' ? 10 : 20, 3);
      EXPECT_TRUE(store->find(sample_key(1)));
    }
    EXPECT_GE(number("SELECT min(seq) FROM usage"), 0);
    EXPECT_LT(number("SELECT max(seq) FROM usage"), 100);
    EXPECT_EQ(WatchedStore(directory_.path())->list().front().key, sample_key(1).digest);
  }
}

TEST_F(CacheRoom, ALoweredCapShrinksTheFile) {
  put_kernels(*WatchedStore(directory_.path(), capped(4 * kCap)), 0, 150);
  ASSERT_GT(file_bytes(), 3 * kCap);
  WatchedStore store(directory_.path(), capped());
  put_kernels(*store, 200, 1);
  EXPECT_LE(file_bytes(), kCap);
  EXPECT_EQ(store->find(sample_key(200)), sample_row(200, 20000));
  EXPECT_EQ(store->find(sample_key(149)), sample_row(149, 20000));
  put_kernels(*store, 201, 60);
  EXPECT_LE(file_bytes(), kCap) << "the file grew again";
  EXPECT_TRUE(store->verify(true).problems.empty());
}

TEST_F(CacheRoom, TheLastToAskDecidesTheCap) {
  const auto first = open_store(shared(4 * kCap));
  put_kernels(*first, 0, 100);
  ASSERT_GT(file_bytes(), 2 * kCap);
  EXPECT_EQ(open_store(shared(kCap)), first);
  put_kernels(*first, 100, 60);
  EXPECT_LE(file_bytes(), kCap);
  EXPECT_EQ(open_store(shared(4 * kCap)), first);
  put_kernels(*first, 200, 100);
  EXPECT_GT(file_bytes(), 2 * kCap);
  EXPECT_EQ(first->stats().dropped, 0u);
}

TEST_F(CacheRoom, TheLastToAskDecidesAboutNetworks) {
  StoreConfig config = shared(kCap);
  config.pretend_filesystem = 0x6969;
  config.warn = [](std::string_view) {};
  const auto store = open_store(config);
  put_kernels(*store, 0, 2);
  EXPECT_EQ(store->stats().stored, 0u);
  config.allow_network = true;
  EXPECT_EQ(open_store(config), store);
  put_kernels(*store, 2, 2);
  EXPECT_EQ(store->stats().stored, 2u);
}

TEST_F(CacheRoom, TheLastToAskDecidesAboutWaitingForTheDisk) {
  int syncs = 0;
  const HookedDisk disk([&](Io io, int) {
    syncs += io == Io::sync;
    return SQLITE_OK;
  });
  StoreConfig config = shared(kCap);
  const auto store = open_store(config);
  put_kernels(*store, 0, 1);
  EXPECT_EQ(syncs, 0);
  config.synchronous = true;
  EXPECT_EQ(open_store(config), store);
  put_kernels(*store, 1, 1);
  EXPECT_GT(syncs, 0);
}

}  // namespace
}  // namespace fuseplan::test
