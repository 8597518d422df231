// SPDX-License-Identifier: MIT
#include "cache/store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

StoreConfig with_mode(CacheMode mode) {
  StoreConfig config;
  config.mode = mode;
  return config;
}

mode_t mode_of(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(CacheStore, KeepsRowsAcrossObjects) {
  TemporaryDirectory directory;
  {
    WatchedStore store(directory.path());
    EXPECT_FALSE(store->find(sample_key(1)));
    store->put(sample_key(1), sample_row(1));
    EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
    const StoreStats stats = store->stats();
    EXPECT_EQ(stats.misses, 1u);
    EXPECT_EQ(stats.hits_memory, 1u);
    EXPECT_EQ(stats.stored, 1u);
    EXPECT_TRUE(store.warnings.empty());
  }
  WatchedStore store(directory.path());
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
  const StoreStats stats = store->stats();
  EXPECT_EQ(stats.hits_disk, 1u);
  EXPECT_EQ(stats.hits_memory, 1u);
  EXPECT_EQ(stats.rows, 1u);
  EXPECT_GT(stats.bytes, 2000u);
}

TEST(CacheStore, FilesArePrivateWhateverTheUmask) {
  for (const mode_t mask : {0000, 0022, 0777}) {
    TemporaryDirectory directory;
    directory.give_away();
    EXPECT_TRUE(passes_in_child([&] {
      drop_privileges();
      ::umask(mask);
      WatchedStore store(directory / "a/b");
      store->put(sample_key(1), sample_row(1));
      EXPECT_EQ(store->stats().stored, 1u);
      EXPECT_TRUE(store.warnings.empty()) << store.warnings.front();
      EXPECT_EQ(mode_of(directory / "a"), 0700u);
      EXPECT_EQ(mode_of(directory / "a/b"), 0700u);
      EXPECT_EQ(mode_of(directory / "a/b/kernels-v1.db"), 0600u);
      EXPECT_EQ(mode_of(directory / "a/b/kernels-v1.db-journal"), 0600u);
      EXPECT_EQ(mode_of(directory / "a/b/fuseplan.lock"), 0600u);
    })) << "umask "
        << mask;
  }
}

TEST(CacheStore, TheFirstRowOfAKeyStays) {
  TemporaryDirectory directory;
  WatchedStore first(directory.path()), second(directory.path());
  first->put(sample_key(1), sample_row(1));
  second->put(sample_key(1), sample_row(2));
  WatchedStore reader(directory.path());
  EXPECT_EQ(reader->find(sample_key(1)), sample_row(1));
  EXPECT_EQ(reader->stats().rows, 1u);
}

TEST(CacheStore, ReadOnlyModeReadsAndKeepsNewRowsInMemory) {
  TemporaryDirectory directory;
  WatchedStore(directory.path())->put(sample_key(1), sample_row(1));
  WatchedStore store(directory.path(), with_mode(CacheMode::ro));
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
  store->put(sample_key(2), sample_row(2));
  EXPECT_EQ(store->find(sample_key(2)), sample_row(2));
  EXPECT_EQ(store->stats().rows, 1u);
  EXPECT_TRUE(store.warnings.empty());
}

TEST(CacheStore, ReadOnlyModeCreatesNothing) {
  TemporaryDirectory directory;
  WatchedStore store(directory / "none", with_mode(CacheMode::ro));
  store->put(sample_key(1), sample_row(1));
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
  EXPECT_FALSE(store->find(sample_key(2)));
  EXPECT_FALSE(std::filesystem::exists(directory / "none"));
  EXPECT_EQ(store.warnings.size(), 1u);
}

TEST(CacheStore, MemoryModeTouchesNoDisk) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path(), with_mode(CacheMode::mem));
  store->put(sample_key(1), sample_row(1));
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
  EXPECT_EQ(store->list().size(), 1u);
  EXPECT_TRUE(store->location().empty());
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(CacheStore, OffModeKeepsNothing) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path(), with_mode(CacheMode::off));
  store->put(sample_key(1), sample_row(1));
  store->put_tuning(sample_key(1), "x");
  EXPECT_FALSE(store->find(sample_key(1)));
  EXPECT_FALSE(store->find_tuning(sample_key(1)));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(CacheStore, MemoryIsBounded) {
  StoreConfig config = with_mode(CacheMode::mem);
  config.memory_bytes = 100000;
  WatchedStore store("/nowhere", config);
  for (int i = 0; i < 300; ++i) {
    store->put(sample_key(i), sample_row(i));
    EXPECT_TRUE(store->find(sample_key(0))) << i;  // used all the time, so it stays
  }
  const StoreStats stats = store->stats();
  EXPECT_LE(stats.bytes, 100000u);
  EXPECT_GT(stats.rows, 40u);
  EXPECT_FALSE(store->find(sample_key(100)));
  EXPECT_TRUE(store->find(sample_key(299)));
}

TEST(CacheStore, ListsTheLastUsedFirst) {
  TemporaryDirectory directory;
  {
    WatchedStore store(directory.path());
    for (int i = 0; i < 3; ++i) store->put(sample_key(i), sample_row(i, 5000, i == 2));
    EXPECT_TRUE(store->find(sample_key(0)));
  }
  WatchedStore store(directory.path());
  const auto entries = store->list();
  ASSERT_EQ(entries.size(), 3u);
  const int order[] = {0, 2, 1};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(entries[i].key_text, sample_key(order[i]).text);
    EXPECT_EQ(entries[i].key, sample_key(order[i]).digest);
    EXPECT_EQ(entries[i].meta, sample_row(order[i]).meta);
    EXPECT_EQ(entries[i].size, 5000);
    EXPECT_GT(entries[i].created, 1600000000);
  }
  EXPECT_EQ(entries[1].stored, 5000);
  EXPECT_LT(entries[2].stored, 4000);
}

TEST(CacheStore, ErasesAndClears) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  for (int i = 0; i < 100; ++i) store->put(sample_key(i), sample_row(i));
  EXPECT_TRUE(store->erase(sample_key(7)));
  EXPECT_FALSE(store->erase(sample_key(7)));
  EXPECT_FALSE(store->find(sample_key(7)));
  const std::uint64_t before = store->stats().bytes;
  EXPECT_EQ(store->clear().kernels, 99u);
  EXPECT_FALSE(store->find(sample_key(8)));
  EXPECT_EQ(store->stats().rows, 0u);
  EXPECT_LT(store->stats().bytes, before / 2);
  store->put(sample_key(8), sample_row(8));
  EXPECT_EQ(WatchedStore(directory.path())->find(sample_key(8)), sample_row(8));
}

TEST(CacheStore, KeepsTuningResults) {
  TemporaryDirectory directory;
  {
    WatchedStore store(directory.path());
    EXPECT_FALSE(store->find_tuning(sample_key(1)));
    store->put_tuning(sample_key(1), "tile=6x16");
    store->put_tuning(sample_key(1), "tile=4x24 'quoted\"; DROP TABLE tuning; --");
  }
  WatchedStore store(directory.path());
  EXPECT_EQ(store->find_tuning(sample_key(1)), "tile=4x24 'quoted\"; DROP TABLE tuning; --");
  EXPECT_FALSE(store->find_tuning(sample_key(2)));
  EXPECT_EQ(store->verify(true).checked, 1u);
}

// A row of 87 KB takes 12 KB more of a cap of 400 KB, at most. The process has its row either way.
TEST(CacheStore, StoresRowsUpToAQuarterOfTheCap) {
  TemporaryDirectory directory;
  StoreConfig config;
  config.cap_bytes = 400000;
  WatchedStore store(directory.path(), config);
  struct Case {
    std::size_t bytes;
    bool fits;
  };
  std::uint64_t stored = 0, dropped = 0;
  for (const auto& [bytes, fits] : {Case{200000, false}, Case{88500, false}, Case{87000, true}}) {
    const int number = static_cast<int>(stored + dropped) + 1;
    (fits ? stored : dropped)++;
    store->put(sample_key(number), sample_row(number, bytes));
    EXPECT_EQ(store->stats().stored, stored) << bytes;
    EXPECT_EQ(store->stats().dropped, dropped) << bytes;
    EXPECT_EQ(store->stats().rows, stored) << bytes;
    EXPECT_EQ(store->find(sample_key(number)), sample_row(number, bytes));
  }
}

/// Of zeros, which compress to nearly nothing.
TEST(CacheStore, StoresNoKernelThatItWouldNotRead) {
  const CacheKey key = sample_key(1);
  const auto row = std::make_shared<const Row>(
      Row{"entry=large", std::vector<std::byte>(static_cast<std::size_t>(kMaxBlobBytes) + 1)});
  const StoredRow packed = pack_row(key, *row);
  EXPECT_LT(packed.blob.size(), 1u << 20);
  EXPECT_FALSE(unpack_row(key, packed));
  TemporaryDirectory directory;
  StoreConfig config;
  config.memory_bytes = 0;
  WatchedStore store(directory.path(), config);
  store->keep(key, row);
  EXPECT_EQ(store->stats().dropped, 1u);
  EXPECT_EQ(store->stats().rows, 0u);
  EXPECT_EQ(store->stats().rejected_rows, 0u) << "it was stored";
}

TEST(CacheStore, NoValueOfADatabaseTakesMoreThanTwoKernels) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  store->put(sample_key(1), sample_row(1));
  sqlite::Connection database(store->location(), sqlite::Access::read_only);
  EXPECT_TRUE(database.query("SELECT zeroblob(?)").bind(2 * kMaxBlobBytes).step());
  try {
    database.query("SELECT zeroblob(?), 1").bind(2 * kMaxBlobBytes + 1).step();
    ADD_FAILURE() << "it was read";
  } catch (const CacheFault& fault) {
    EXPECT_EQ(fault.fault(), Fault::memory) << fault.what();
  }
}

TEST(CacheStore, TuningResultsStayBelowTheCapToo) {
  TemporaryDirectory directory;
  StoreConfig config;
  config.cap_bytes = 400000;
  WatchedStore store(directory.path(), config);
  const std::string value(20000, 'v');
  for (int i = 0; i < 40; ++i) store->put_tuning(sample_key(i), value);
  EXPECT_LE(std::filesystem::file_size(store->location()), 400000u);
  EXPECT_EQ(store->stats().dropped, 0u);
  EXPECT_GT(store->stats().evicted, 0u);
  EXPECT_TRUE(store.warnings.empty());
  for (int i = 0; i < 40; ++i) EXPECT_EQ(store->find_tuning(sample_key(i)), value) << i;
  EXPECT_FALSE(WatchedStore(directory.path())->find_tuning(sample_key(0)));
  EXPECT_TRUE(WatchedStore(directory.path())->find_tuning(sample_key(39)));
}

// Its text is written out beside its digest, and both have to be the same.
TEST(CacheStore, AKeyIsMoreThanItsDigest) {
  TemporaryDirectory directory;
  CacheKey other = sample_key(1);
  other.text += "more=1\n";
  {
    WatchedStore store(directory.path());
    store->put(sample_key(1), sample_row(1));
    EXPECT_FALSE(store->find(other)) << "in memory";
    store->put_tuning(sample_key(1), "tile=6");
  }
  EXPECT_FALSE(WatchedStore(directory.path())->find_tuning(other));
  EXPECT_NE(tuning_digest(other, "tile=6"), tuning_digest(sample_key(1), "tile=6"));
  EXPECT_FALSE(unpack_row(other, pack_row(sample_key(1), sample_row(1))));
}

TEST(CacheStore, EvictsWhatWasUnusedForLongest) {
  TemporaryDirectory directory;
  StoreConfig config;
  config.cap_bytes = 1000000;
  config.memory_bytes = 0;  // so that every look is at the disk
  WatchedStore store(directory.path(), config);
  for (int i = 0; i < 200; ++i) {
    store->put(sample_key(i), sample_row(i, 20000));
    EXPECT_EQ(store->find(sample_key(0)), sample_row(0, 20000)) << "hot row lost after " << i;
    EXPECT_LE(std::filesystem::file_size(store->location()), 900000u);
  }
  const StoreStats stats = store->stats();
  EXPECT_GT(stats.evicted, 100u);
  EXPECT_GT(stats.rows, 25u);
  EXPECT_EQ(stats.dropped, 0u);
  EXPECT_FALSE(store->find(sample_key(100)));
  EXPECT_TRUE(store->find(sample_key(199)));
  EXPECT_TRUE(store->verify(true).problems.empty());
}

// Waiting for the lock is possible only when nothing has been read yet.
TEST(CacheStore, TransactionsLockAtTheirStart) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  store->put(sample_key(1), sample_row(1));
  sqlite::Connection left(store->location(), sqlite::Access::read_write);
  sqlite::Connection right(store->location(), sqlite::Access::read_write);
  {
    sqlite::Transaction holder(left);
    EXPECT_THROW(sqlite::Transaction{right}, CacheFault);
    EXPECT_TRUE(store->find(sample_key(1)));  // readers are not in its way
  }
  sqlite::Transaction after(right);
}

TEST(CacheStore, OneObjectForADirectory) {
  TemporaryDirectory directory;
  std::filesystem::create_directory_symlink(directory.path(), directory / "link");
  StoreConfig config;
  config.directory = directory.path();
  const auto first = open_store(config);
  EXPECT_EQ(open_store(config), first);
  config.directory = directory / "link";
  EXPECT_EQ(open_store(config), first);
  config.mode = CacheMode::ro;
  EXPECT_NE(open_store(config), first);
}

TEST(CacheStore, WarnsOfANetworkFileSystemAndOnlyReadsThere) {
  TemporaryDirectory directory;
  WatchedStore(directory.path())->put(sample_key(1), sample_row(1));
  StoreConfig config;
  config.pretend_filesystem = 0x6969;
  WatchedStore store(directory.path(), config);
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
  for (int i = 2; i < 5; ++i) store->put(sample_key(i), sample_row(i));
  EXPECT_EQ(store->find(sample_key(3)), sample_row(3));
  EXPECT_EQ(store->stats().rows, 1u);
  ASSERT_EQ(store.warnings.size(), 1u);
  EXPECT_NE(store.warnings[0].find("NFS"), std::string::npos) << store.warnings[0];

  config.allow_network = true;
  WatchedStore allowed(directory.path(), config);
  allowed->put(sample_key(2), sample_row(2));
  EXPECT_EQ(allowed->stats().rows, 2u);
  EXPECT_TRUE(allowed.warnings.empty());
}

TEST(CacheStore, ThreadsShareOneStore) {
  TemporaryDirectory directory;
  StoreConfig config;
  config.memory_bytes = 20000;
  WatchedStore store(directory.path(), config);
  std::atomic<int> wrong{0}, found{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        store->put(sample_key(i), sample_row(i));
        const auto row = store->find(sample_key((i * 7 + t) % 100));
        if (row) ++found;
        if (row && *row != sample_row((i * 7 + t) % 100)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(found, 200);
  EXPECT_EQ(store->stats().rows, 100u);
  EXPECT_TRUE(store.warnings.empty());
}

}  // namespace
}  // namespace fuseplan::test
