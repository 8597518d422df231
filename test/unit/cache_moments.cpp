// SPDX-License-Identifier: MIT
// The database is replaced between two calls that SQLite makes: what is stored then is in the file
// that has its name now, and what is looked up comes from there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "support/cache_rows.hpp"
#include "support/hooked_disk.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

namespace fs = std::filesystem;

/// Row 1 is in the database, row 9 in the one that takes its place. Nothing is kept in memory.
class CacheMoments : public ::testing::Test {
 protected:
  static StoreConfig disk_only() {
    StoreConfig config;
    config.memory_bytes = 0;
    return config;
  }
  WatchedStore opened() const { return WatchedStore(directory_.path(), disk_only()); }

  void begin() {
    for (const char* place : {".", "other"}) {
      fs::remove(directory_ / place / "kernels-v1.db");
      const int row = place == std::string("other") ? 9 : 1;
      WatchedStore((directory_ / place).string(), disk_only())
          ->put(sample_key(row), sample_row(row));
    }
  }

  /// Replaces the database before call number `number`, counted from now, that `is_it` names.
  void replace_before(int number, std::function<bool(Io, int)> is_it) {
    left_ = number;
    replaced_ = false;
    moment_ = std::move(is_it);
  }
  bool was_replaced() {
    moment_ = nullptr;
    return replaced_;
  }

  void expect_stored(int number) {
    EXPECT_EQ(opened()->find(sample_key(number)), sample_row(number)) << "in the lost file";
    EXPECT_EQ(opened()->find(sample_key(9)), sample_row(9));
    EXPECT_FALSE(opened()->find(sample_key(1)));
  }

  struct Directory : TemporaryDirectory {
    fs::path operator/(const fs::path& name) const { return fs::path(path()) / name; }
  } directory_;

 private:
  int at_moment(Io io, int detail) {
    if (!moment_ || replaced_ || !moment_(io, detail) || left_-- > 0) return SQLITE_OK;
    replaced_ = true;
    fs::rename(directory_ / "other/kernels-v1.db", directory_ / "kernels-v1.db");
    return SQLITE_OK;
  }

  std::function<bool(Io, int)> moment_;
  int left_ = 0;
  bool replaced_ = false;
  HookedDisk disk_{[this](Io io, int detail) { return at_moment(io, detail); }};
};

bool is_write_lock(Io io, int level) { return io == Io::lock && level == SQLITE_LOCK_RESERVED; }
bool is_look(Io io, int control) { return io == Io::control && control == SQLITE_FCNTL_HAS_MOVED; }

TEST_F(CacheMoments, ReplacedBeforeTheWritersLock) {
  begin();
  {
    WatchedStore store = opened();
    store->put(sample_key(2), sample_row(2));  // the journal is open
    replace_before(0, is_write_lock);
    store->put(sample_key(3), sample_row(3));
    EXPECT_TRUE(was_replaced());
    EXPECT_EQ(store->stats().dropped, 0u);
    EXPECT_TRUE(store.warnings.empty());
  }
  expect_stored(3);
}

// SQLite looks too, after us, when it opens the journal.
TEST_F(CacheMoments, ReplacedBeforeEachLookOfAStore) {
  for (const bool first_store : {true, false}) {
    int looks = 0;
    for (;; ++looks) {
      SCOPED_TRACE(std::to_string(looks) + (first_store ? ", first store" : ", second store"));
      begin();
      {
        WatchedStore store = opened();
        if (!first_store) store->put(sample_key(2), sample_row(2));
        replace_before(looks, is_look);
        store->put(sample_key(3), sample_row(3));
        if (!was_replaced()) break;
        EXPECT_EQ(store->stats().dropped, 0u);
        EXPECT_EQ(store->stats().set_aside, 0u);
        EXPECT_TRUE(store.warnings.empty());
      }
      expect_stored(3);
      if (HasFailure()) return;
    }
    // Ours before and within the transaction, and SQLite's where it has yet to open the journal.
    EXPECT_GE(looks, first_store ? 3 : 2);
  }
}

TEST_F(CacheMoments, ReplacedWhileItIsOpened) {
  begin();
  WatchedStore store = opened();
  replace_before(0, [](Io io, int) { return io == Io::read; });  // of the header
  EXPECT_EQ(store->find(sample_key(9)), sample_row(9));
  EXPECT_TRUE(was_replaced());
}

TEST_F(CacheMoments, ReplacedBetweenLookups) {
  begin();
  WatchedStore store = opened();
  EXPECT_TRUE(store->find(sample_key(1)));
  replace_before(0, is_look);
  EXPECT_EQ(store->find(sample_key(9)), sample_row(9));
  EXPECT_TRUE(was_replaced());
}

// By somebody who was faster: what took its place is not what was found damaged.
TEST_F(CacheMoments, ReplacedWhileItIsFoundDamaged) {
  int reads = 0;
  bool was_kept = false;
  for (;; ++reads) {
    SCOPED_TRACE(reads);
    begin();
    fs::resize_file(directory_ / "kernels-v1.db", 0);
    std::ofstream(directory_ / "kernels-v1.db") << std::string(9000, '\1');
    {
      WatchedStore store = opened();
      replace_before(reads, [](Io io, int) { return io == Io::read; });
      (void)store->find(sample_key(9));
      store->put(sample_key(3), sample_row(3));
      if (!was_replaced()) break;
      was_kept |= store->stats().set_aside == 0;
    }
    // A row may have gone to the lost file while it was replaced; the one that came is whole.
    EXPECT_EQ(opened()->find(sample_key(9)), sample_row(9));
    if (HasFailure()) return;
  }
  EXPECT_GE(reads, 4) << "it is looked at twice";
  EXPECT_TRUE(was_kept);
}

}  // namespace
}  // namespace fuseplan::test
