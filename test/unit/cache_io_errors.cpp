// SPDX-License-Identifier: MIT
// Each call that SQLite makes to the disk fails once, alone and with all that follow it: the store
// answers as if it had no disk, gives no wrong row, leaves no descriptor behind, and heals.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "support/cache_rows.hpp"
#include "support/hooked_disk.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

namespace fs = std::filesystem;

/// An operation that can fail, and how.
struct IoError {
  Io io;
  int code;
  const char* name;
};
constexpr IoError kErrors[] = {
    {Io::read, SQLITE_IOERR_READ, "read"},
    {Io::read, SQLITE_IOERR_SHORT_READ, "short read"},
    {Io::write, SQLITE_IOERR_WRITE, "write"},
    {Io::write, SQLITE_FULL, "write to a full disk"},
    {Io::truncate, SQLITE_IOERR_TRUNCATE, "truncate"},
    {Io::sync, SQLITE_IOERR_FSYNC, "sync"},
    {Io::size, SQLITE_IOERR_FSTAT, "size"},
    {Io::lock, SQLITE_IOERR_LOCK, "lock"},
    {Io::lock, SQLITE_BUSY, "lock held by another"},
    {Io::open, SQLITE_CANTOPEN, "open"},
    {Io::remove, SQLITE_IOERR_DELETE, "delete"},
    {Io::access, SQLITE_IOERR_ACCESS, "access"},
};

/// What is to fail: the call number `left` of its kind, from now on.
struct Plan {
  const IoError* error = nullptr;
  int left = 0;
  bool stays = false;
  int sprung = 0;
  int after_open = -1;  ///< not negative: `left` is counted anew from every time a file is opened

  int code_for(Io io) {
    if (io == Io::open && after_open >= 0) left = after_open;
    if (error == nullptr || error->io != io) return SQLITE_OK;
    if (left > 0) return --left, SQLITE_OK;
    if (sprung > 0 && !stays) return SQLITE_OK;
    ++sprung;
    return error->code;
  }
};

int open_descriptors() {
  return static_cast<int>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

class CacheIoErrors : public ::testing::Test {
 protected:
  static StoreConfig impatient() {
    StoreConfig config;
    config.lookup_patience = config.store_patience = std::chrono::milliseconds(5);
    return config;
  }
  void expect_right_or_nothing(KernelStore& store, std::uint64_t number) {
    if (const auto row = store.find(sample_key(number))) {
      EXPECT_EQ(*row, sample_row(number));
    }
  }

  std::vector<std::string> set_aside() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(directory_.path()))
      if (entry.path().string().find(".bad-") != std::string::npos) paths.push_back(entry.path());
    return paths;
  }

  /// What a process does while the disk fails. Returns how often it did.
  int use_failing(const IoError& error, int number, bool stays) {
    for (const std::string& path : set_aside()) fs::remove(path);
    plan_ = {&error, number, stays};
    {
      StoreConfig config = impatient();
      config.synchronous = error.io == Io::sync;  // otherwise there are no such calls
      WatchedStore store(directory_.path(), config);
      expect_right_or_nothing(*store, 1);
      store->put(sample_key(2), sample_row(2));
      EXPECT_EQ(store->find(sample_key(2)), sample_row(2)) << "it was put a moment ago";
      expect_right_or_nothing(*store, 1);
      EXPECT_LE(store.warnings.size(), 3u);
    }
    const int sprung = plan_.sprung;
    plan_ = {};
    return sprung;
  }

  /// And the next one, with the disk well again.
  void use_healed() {
    {
      WatchedStore store(directory_.path());
      expect_right_or_nothing(*store, 1);
      store->put(sample_key(1), sample_row(1));
      store->put(sample_key(3), sample_row(3));
    }
    WatchedStore store(directory_.path());
    EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
    EXPECT_EQ(store->find(sample_key(3)), sample_row(3));
    const VerifyReport report = store->verify(true);
    EXPECT_TRUE(report.problems.empty());
  }

  /// The file is what it was, whatever the disk answered: there is nothing to set aside.
  void expect_kept() {
    EXPECT_TRUE(set_aside().empty());
    EXPECT_EQ(WatchedStore(directory_.path())->find(sample_key(1)), sample_row(1));
  }

  TemporaryDirectory directory_;
  Plan plan_;
  HookedDisk disk_{[this](Io io, int) { return plan_.code_for(io); }};
};

TEST_F(CacheIoErrors, OfEveryCall) {
  use_healed();
  const int descriptors = open_descriptors();
  int failures = 0;
  for (const IoError& error : kErrors) {
    int seen = 0;
    for (const bool stays : {false, true})
      for (int number = 0; use_failing(error, number, stays) > 0; ++number) {
        SCOPED_TRACE(std::string(error.name) + " " + std::to_string(number) +
                     (stays ? " and all behind it" : ""));
        // To SQLite a short read is the end of the file, and a file that is cut short is damaged.
        if (error.code != SQLITE_IOERR_SHORT_READ) expect_kept();
        use_healed();
        ++seen;
        if (HasFailure()) return;
      }
    std::printf("%s: %d\n", error.name, seen);
    failures += seen;
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_GT(failures, 80) << "too little failed to show anything";
}

/// Looks rows up for `often` times, none of which succeeds, and returns the seconds that took.
int look_in_vain(WatchedStore& store, int often) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < often; ++i) EXPECT_FALSE(store->find(sample_key(1)));
  const auto taken = std::chrono::steady_clock::now() - begin;
  return static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(taken).count());
}

// Every compile of a program that makes hundreds would otherwise wait for the same error again.
TEST_F(CacheIoErrors, AreMetOnceASecond) {
  constexpr int kLooks = 300;
  use_healed();
  for (const IoError& error : kErrors) {
    if (error.io != Io::open && error.code != SQLITE_IOERR_READ) continue;
    for (const bool opened : {false, true}) {
      if (opened && error.io == Io::open) continue;
      SCOPED_TRACE(std::string(error.name) + (opened ? " of an open database" : ""));
      StoreConfig config = impatient();
      config.memory_bytes = 0;
      WatchedStore store(directory_.path(), config);
      if (opened) {
        EXPECT_TRUE(store->find(sample_key(3)));
        // What SQLite knows of the file is out of date now, so that it reads.
        WatchedStore(directory_.path())->put(sample_key(10), sample_row(10));
        WatchedStore(directory_.path())->erase(sample_key(10));
      }
      plan_ = {&error, 0, true};
      const int seconds = look_in_vain(store, kLooks);
      EXPECT_GE(plan_.sprung, 1);
      EXPECT_LE(plan_.sprung, 2 * (seconds + 1)) << "in " << kLooks << " lookups";
      EXPECT_EQ(store.warnings.size(), 1u);
      plan_ = {};
      std::this_thread::sleep_for(std::chrono::milliseconds(1050));
      EXPECT_EQ(store->find(sample_key(1)), sample_row(1)) << "the disk is well again";
    }
  }
}

// The database opens, and only the row itself cannot be read.
TEST_F(CacheIoErrors, OfRowsAreMetOnceASecond) {
  constexpr int kLooks = 300, kMany = 1000;
  use_healed();
  const IoError& error = kErrors[0];
  ASSERT_EQ(error.io, Io::read);
  StoreConfig config = impatient();
  config.memory_bytes = 0;
  config.mode = CacheMode::ro;
  plan_ = {&error, kMany, true};
  EXPECT_TRUE(WatchedStore(directory_.path(), config)->find(sample_key(1)));
  const int reads = kMany - plan_.left;
  ASSERT_GE(reads, 3);
  WatchedStore store(directory_.path(), config);
  plan_ = {&error, kMany, true, 0, reads - 1};
  const int seconds = look_in_vain(store, kLooks);
  EXPECT_GE(plan_.sprung, 1);
  EXPECT_LE(plan_.sprung, 2 * (seconds + 1)) << "in " << kLooks << " lookups";
  plan_ = {};
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1));
}

// How much has to be evicted is an estimate.
TEST_F(CacheIoErrors, AFullDiskIsTriedOnceMore) {
  use_healed();
  constexpr IoError kFull = {Io::write, SQLITE_FULL, "full"};
  for (const bool stays : {false, true}) {
    WatchedStore store(directory_.path());
    plan_ = {&kFull, 0, stays};
    store->put(sample_key(20 + stays), sample_row(20 + stays));
    EXPECT_GE(plan_.sprung, 1);
    plan_ = {};
    EXPECT_EQ(store->stats().stored, stays ? 0u : 1u);
    EXPECT_EQ(store->stats().dropped, stays ? 1u : 0u);
    EXPECT_EQ(store.warnings.size(), stays ? 1u : 0u);
  }
}

}  // namespace
}  // namespace fuseplan::test
