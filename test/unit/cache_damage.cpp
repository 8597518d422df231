// SPDX-License-Identifier: MIT
// Whatever is done to the database file: no wrong row, no crash, and healed by the next compile.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "cache/single_flight.hpp"
#include "cache/sqlite.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

constexpr int kRows = 8;
constexpr std::size_t kPage = 4096;
namespace fs = std::filesystem;

Row row_of(int i) { return sample_row(i, 5000 + 900 * i, i % 4 != 3); }

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  ::chmod(path.c_str(), 0600);
}

struct Tally {
  int rounds = 0, rebuilt = 0, noticed = 0, unhealed = 0, wrong = 0;
};

class CacheDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    {
      WatchedStore store(directory_.path());
      for (int i = 0; i < kRows; ++i) store->put(sample_key(i), row_of(i));
    }
    pristine_ = slurp(database());
    ASSERT_GT(pristine_.size(), 8 * kPage);
  }

  std::string database() const { return directory_ / "kernels-v1.db"; }

  void restore(const std::string& bytes) {
    for (const auto& entry : fs::directory_iterator(directory_.path())) fs::remove(entry.path());
    write_file(database(), bytes);
  }

  // What a new process does: asks for every kernel, building what it does not get.
  StoreStats compile_all() {
    WatchedStore store(directory_.path());
    for (int i = 0; i < kRows; ++i) {
      Outcome outcome;
      const Row row = get_or_build(
          *store, sample_key(i), [&] { return row_of(i); }, outcome);
      if (row != row_of(i)) ++tally_.wrong;
    }
    const StoreStats stats = store->stats();
    EXPECT_LE(store.warnings.size(), 2u);
    return stats;
  }

  void check_round() {
    ++tally_.rounds;
    StoreStats stats = compile_all();
    tally_.rebuilt += static_cast<int>(stats.builds);
    if (stats.rejected_rows + stats.set_aside + stats.builds > 0) ++tally_.noticed;
    // Setting the file aside, at the latest when the store is closed, took the rows with it that
    // had been read before; they follow here.
    if (fs::exists(directory_ / "kernels-v1.db.bad-1")) compile_all();
    stats = compile_all();
    if (stats.hits_disk != kRows || stats.builds != 0) ++tally_.unhealed;
  }

  void check_tally(int rounds, int least_noticed) {
    std::printf("%d rounds, %d noticed, %d kernels rebuilt\n", tally_.rounds, tally_.noticed,
                tally_.rebuilt);
    EXPECT_EQ(tally_.wrong, 0);
    EXPECT_EQ(tally_.unhealed, 0);
    EXPECT_EQ(tally_.rounds, rounds);
    EXPECT_GE(tally_.noticed, least_noticed) << "the damage was not seen, so nothing was tested";
  }

  void sql(const char* script) {
    sqlite::Connection(database(), sqlite::Access::read_write).execute(script);
  }

  TemporaryDirectory directory_;
  std::string pristine_;
  Tally tally_;
};

TEST_F(CacheDamage, FlippedBits) {
  Random random(1);
  const auto bits = static_cast<std::int64_t>(pristine_.size()) * 8;
  for (int round = 0; round < 500; ++round) {
    std::string bytes = pristine_;
    const std::int64_t bit = random.between(0, bits - 1);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    restore(bytes);
    check_round();
  }
  check_tally(500, 250);
}

TEST_F(CacheDamage, Truncated) {
  Random random(2);
  for (int round = 0; round < 125; ++round) {
    restore(pristine_.substr(0, random.between(0, std::ssize(pristine_) - 1)));
    check_round();
  }
  check_tally(125, 125);
}

TEST_F(CacheDamage, SwappedPages) {
  Random random(3);
  const auto pages = static_cast<std::int64_t>(pristine_.size() / kPage);
  for (int round = 0; round < 125; ++round) {
    std::string bytes = pristine_;
    const std::int64_t a = random.between(0, pages - 1);
    const std::int64_t b = (a + random.between(1, pages - 1)) % pages;
    std::swap_ranges(bytes.begin() + a * kPage, bytes.begin() + (a + 1) * kPage,
                     bytes.begin() + b * kPage);
    restore(bytes);
    check_round();
  }
  check_tally(125, 100);
}

// Each row stays valid in itself; only the key it is found under is another's.
TEST_F(CacheDamage, SwappedRows) {
  Random random(4);
  for (int round = 0; round < 125; ++round) {
    restore(pristine_);
    const std::int64_t a = random.between(1, kRows);
    const std::int64_t b = (a + random.between(0, kRows - 2)) % kRows + 1;
    ASSERT_NE(a, b);
    {
      sqlite::Connection raw(database(), sqlite::Access::read_write);
      raw.execute("CREATE TEMP TABLE pair AS SELECT id, key, key_text FROM kernel");
      const auto give = [&](std::int64_t id, const char* key_of, std::int64_t from) {
        raw.query(key_of).bind(from).bind(id).run();
      };
      const char* hide = "UPDATE kernel SET key = CAST(? AS BLOB) WHERE id = ?";
      const char* key = "UPDATE kernel SET key = (SELECT key FROM pair WHERE id = ?) WHERE id = ?";
      const char* text =
          "UPDATE kernel SET key_text = (SELECT key_text FROM pair WHERE id = ?) WHERE id = ?";
      give(a, hide, 0);
      give(b, key, a);
      give(a, key, b);
      if (round % 2 == 0) give(a, text, b), give(b, text, a);
    }
    const StoreStats stats = compile_all();
    EXPECT_EQ(stats.rejected_rows, 2u);
    check_round();
    ++tally_.noticed;
  }
  check_tally(125, 125);
}

TEST_F(CacheDamage, ForeignFilesAreSetAside) {
  const std::function<void()> damages[] = {
      [&] { write_file(database(), std::string(10000, 'x')); },
      [&] { write_file(database(), std::string(10000, '\1')); },  // no write-ahead log's either
      [&] { write_file(database(), "SQLite format 3" + std::string(85, '\0') + "and no more"); },
      [&] { sql("PRAGMA application_id = 7"); },
      [&] { sql("PRAGMA application_id = 0; PRAGMA user_version = 0"); },
      [&] { sql("PRAGMA user_version = 0"); },
      [&] { sql("PRAGMA user_version = 2"); },  // a newer version has a file of its own
      [&] { sql("PRAGMA user_version = 1073741825"); },
      [&] { sql("DROP TABLE usage"); },
      [&] { sql("ALTER TABLE kernel ADD COLUMN extra"); },
      [&] { sql("CREATE TRIGGER t AFTER INSERT ON kernel BEGIN DELETE FROM usage; END"); },
      [&] { sql("CREATE VIEW v AS SELECT * FROM kernel"); },
      [&] { sql("PRAGMA journal_mode = WAL"); },
  };
  for (const auto& damage : damages) {
    restore(pristine_);
    damage();
    const std::string before = slurp(database());
    WatchedStore store(directory_.path());
    EXPECT_FALSE(store->find(sample_key(1)));
    store->put(sample_key(1), row_of(1));
    EXPECT_EQ(store->stats().stored, 1u);
    EXPECT_EQ(store->stats().set_aside, 1u);
    EXPECT_EQ(store.warnings.size(), 1u);
    EXPECT_EQ(slurp(directory_ / "kernels-v1.db.bad-1"), before);
    EXPECT_FALSE(fs::exists(directory_ / "kernels-v1.db-shm")) << "write-ahead log was opened";
  }
}

TEST_F(CacheDamage, OnlyTheLastIsKept) {
  for (int round = 1; round <= 3; ++round) {
    write_file(database(), std::string(10000, 'x'));
    write_file(database() + "-journal", "stale");
    WatchedStore(directory_.path())->put(sample_key(1), row_of(1));
    EXPECT_TRUE(fs::exists(directory_ / ("kernels-v1.db.bad-" + std::to_string(round))));
    EXPECT_FALSE(fs::exists(directory_ / ("kernels-v1.db.bad-" + std::to_string(round - 1))));
  }
  EXPECT_EQ(WatchedStore(directory_.path())->find(sample_key(1)), row_of(1));
}

// Left beside the new database, it would be rolled back into it.
TEST_F(CacheDamage, TheJournalGoesAlong) {
  sql("PRAGMA journal_mode = WAL");
  write_file(database() + "-journal", "stale");
  WatchedStore(directory_.path())->put(sample_key(1), row_of(1));
  EXPECT_EQ(slurp(directory_ / "kernels-v1.db.bad-1-journal"), "stale");
  EXPECT_EQ(WatchedStore(directory_.path())->find(sample_key(1)), row_of(1));
}

// It was seen to be bad while somebody else wrote, so it could not be deleted then.
TEST_F(CacheDamage, ABadRowThatStayedIsReplacedByTheNextStore) {
  sql("UPDATE kernel SET meta = 'entry=evil'");
  StoreConfig config;
  config.store_patience = std::chrono::milliseconds(0);
  WatchedStore store(directory_.path(), config);
  {
    sqlite::Connection writer(database(), sqlite::Access::read_write);
    const sqlite::Transaction lock(writer);
    EXPECT_FALSE(store->find(sample_key(1)));
    EXPECT_EQ(WatchedStore(directory_.path())->stats().rows, static_cast<std::uint64_t>(kRows));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));  // for a second it is left alone
  store->put(sample_key(1), row_of(1));
  EXPECT_EQ(WatchedStore(directory_.path())->find(sample_key(1)), row_of(1));
}

TEST_F(CacheDamage, OtherVersionsAreLeftAlone) {
  write_file(directory_ / "kernels-v2.db", "the next version's");
  write_file(database(), "no database");
  {
    WatchedStore store(directory_.path());
    store->put(sample_key(1), row_of(1));
    EXPECT_EQ(store->clear().problem, "");
  }
  EXPECT_EQ(slurp(directory_ / "kernels-v2.db"), "the next version's");
}

TEST_F(CacheDamage, VerifyFindsAndDeletesBadRows) {
  sql("UPDATE kernel SET blob = substr(blob, 1, 100) WHERE id = 3;"
      "UPDATE kernel SET meta = 'entry=evil' WHERE id = 5;"
      "UPDATE kernel SET key = x'00' WHERE id = 6;"
      "INSERT INTO tuning VALUES (1, x'01', 'k', 'v', x'02', 0)");
  StoreConfig reader;
  reader.mode = CacheMode::ro;
  const VerifyReport seen = WatchedStore(directory_.path(), reader)->verify(true);
  EXPECT_EQ(seen.checked, kRows + 1u);
  EXPECT_EQ(seen.problems.size(), 4u);
  EXPECT_EQ(seen.deleted, 0u);
  const VerifyReport report = WatchedStore(directory_.path())->verify(true);
  EXPECT_EQ(report.deleted, report.problems.size());
  EXPECT_EQ(report.deleted, 4u);
  EXPECT_EQ(report.problems.size(), 4u);
  const VerifyReport after = WatchedStore(directory_.path())->verify(true);
  EXPECT_EQ(after.checked, kRows - 3u);
  EXPECT_TRUE(after.problems.empty());
}

TEST_F(CacheDamage, ABadTuningResultIsRefusedAndReplaced) {
  WatchedStore(directory_.path())->put_tuning(sample_key(1), "tile=6");
  sql("UPDATE tuning SET value = 'tile=9'");
  WatchedStore store(directory_.path());
  EXPECT_FALSE(store->find_tuning(sample_key(1)));
  EXPECT_EQ(store->stats().rejected_rows, 1u);
  store->put_tuning(sample_key(1), "tile=8");
  EXPECT_EQ(WatchedStore(directory_.path())->find_tuning(sample_key(1)), "tile=8");
}

}  // namespace
}  // namespace fuseplan::test
