// SPDX-License-Identifier: MIT
// What a store says of itself when asked: no success for what was not done, no database where none
// is used, and no line that nobody wants to read.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "support/cache_rows.hpp"
#include "support/hooked_disk.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

StoreConfig impatient(CacheMode mode = CacheMode::rw) {
  StoreConfig config;
  config.mode = mode;
  config.lookup_patience = config.store_patience = milliseconds(20);
  config.memory_bytes = 0;
  return config;
}

class CacheInspect : public ::testing::Test {
 protected:
  void SetUp() override {
    WatchedStore store(directory_.path());
    for (int i = 0; i < 3; ++i) store->put(sample_key(i), sample_row(i));
    store->put_tuning(sample_key(1), "tile=6");
  }

  std::string database() const { return directory_ / "kernels-v1.db"; }
  WatchedStore opened(CacheMode mode = CacheMode::rw) const {
    return WatchedStore(directory_.path(), impatient(mode));
  }
  void overwrite(std::streamoff at, const std::string& bytes) const {
    std::fstream file(database(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
  }
  std::uint64_t rows() const { return WatchedStore(directory_.path())->stats().rows; }

  TemporaryDirectory directory_;
};

TEST_F(CacheInspect, ADatabaseThatIsSetAsideIsAProblem) {
  overwrite(0, std::string(5000, 'x'));
  const VerifyReport report = opened()->verify(true);
  EXPECT_EQ(report.checked, 0u);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("set aside"), std::string::npos) << report.problems[0];
  EXPECT_TRUE(opened()->verify(true).problems.empty());
}

TEST_F(CacheInspect, ADatabaseThatCannotBeReadIsAProblem) {
  {
    sqlite::Connection shell(database(), sqlite::Access::read_write);
    shell.execute("BEGIN EXCLUSIVE");
    const VerifyReport locked = opened()->verify(true);
    ASSERT_EQ(locked.problems.size(), 1u);
    EXPECT_NE(locked.problems[0].find("locked"), std::string::npos) << locked.problems[0];
  }
  overwrite(0, std::string(5000, 'x'));
  EXPECT_EQ(opened(CacheMode::ro)->verify(true).problems.size(), 1u);
  EXPECT_EQ(WatchedStore("relative", impatient())->verify(true).problems.size(), 1u);
  EXPECT_TRUE(WatchedStore("relative", impatient(CacheMode::mem))->verify(true).problems.empty());
}

TEST_F(CacheInspect, EachProblemOfTheStructureIsOne) {
  overwrite(36, std::string("\0\0\0\7", 4));  // the header's number of free pages
  const VerifyReport report = opened()->verify(true);
  EXPECT_EQ(report.checked, 4u);
  EXPECT_GE(report.problems.size(), 1u);
  EXPECT_EQ(report.deleted, 0u);
}

TEST_F(CacheInspect, ClearingSaysWhyItDidNot) {
  {
    sqlite::Connection shell(database(), sqlite::Access::read_write);
    shell.execute("BEGIN IMMEDIATE");
    EXPECT_NE(opened()->clear().problem.find("locked"), std::string::npos);
  }
  EXPECT_NE(opened(CacheMode::ro)->clear().problem, "");
  EXPECT_NE(WatchedStore("relative", impatient())->clear().problem, "");
  EXPECT_EQ(WatchedStore("relative", impatient(CacheMode::mem))->clear().problem, "");
  EXPECT_EQ(rows(), 3u);
  const ClearReport report = opened()->clear();
  EXPECT_EQ(report.kernels, 3u);
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(rows(), 0u);
}

TEST_F(CacheInspect, AFullDiskIsClearedToo) {
  std::ofstream(database() + ".bad-7") << "older";
  int failure = SQLITE_FULL;
  const HookedDisk disk([&](Io io, int) { return io == Io::write ? failure : SQLITE_OK; });
  WatchedStore store = opened();
  const ClearReport report = store->clear();
  EXPECT_EQ(report.kernels, 3u);
  EXPECT_EQ(report.problem, "");
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    EXPECT_EQ(entry.path().filename(), kLockFile);
  failure = SQLITE_OK;
  store->put(sample_key(9), sample_row(9));
  EXPECT_EQ(rows(), 1u);
}

TEST_F(CacheInspect, ClearingDoesNotWaitForTheNextTry) {
  int failure = SQLITE_IOERR_WRITE;
  const HookedDisk disk([&](Io io, int) { return io == Io::write ? failure : SQLITE_OK; });
  WatchedStore store = opened();
  store->put(sample_key(9), sample_row(9));
  EXPECT_EQ(store->stats().dropped, 1u);
  failure = SQLITE_OK;
  EXPECT_EQ(store->clear().problem, "");
  EXPECT_EQ(rows(), 0u);
}

TEST_F(CacheInspect, StoringATuningResultSaysWhyItDidNot) {
  const auto reason = [&](const std::string& directory, CacheMode mode) {
    return WatchedStore(directory, impatient(mode))->put_tuning(sample_key(1), "tile=8");
  };
  EXPECT_EQ(reason(directory_.path(), CacheMode::rw), "");
  EXPECT_EQ(reason(directory_.path(), CacheMode::mem), "");
  EXPECT_NE(reason(directory_.path(), CacheMode::ro), "");
  EXPECT_NE(reason(directory_.path(), CacheMode::off), "");
  EXPECT_NE(reason("relative", CacheMode::rw), "");
  sqlite::Connection shell(database(), sqlite::Access::read_write);
  shell.execute("BEGIN IMMEDIATE");
  EXPECT_NE(reason(directory_.path(), CacheMode::rw).find("locked"), std::string::npos);
}

// The pause after a failed write ends although there are always more writes.
TEST_F(CacheInspect, WritesAreTriedAgainUnderLoad) {
  int failure = SQLITE_IOERR_WRITE;
  const HookedDisk disk([&](Io io, int) { return io == Io::write ? failure : SQLITE_OK; });
  WatchedStore store = opened();
  store->put(sample_key(9), sample_row(9));
  failure = SQLITE_OK;
  const auto end = std::chrono::steady_clock::now() + milliseconds(1500);
  for (int i = 10; std::chrono::steady_clock::now() < end; ++i) {
    store->put(sample_key(i), sample_row(i));
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_GT(store->stats().stored, 0u);
}

TEST(CacheLocations, ARefusedPlaceHasNoDatabase) {
  TemporaryDirectory directory;
  for (const char* name : {"open", "other"}) {
    fs::create_directory(directory / name);
    ::chmod((directory / name).c_str(), 0777);
    for (const char* below : {"", "/not/there"}) {
      WatchedStore store(directory / name + below);
      EXPECT_EQ(store->location(), "");
      EXPECT_EQ(store.warnings.size(), 1u);
      store->put(sample_key(1), sample_row(1));
      EXPECT_EQ(store.warnings.size(), 1u);
    }
  }
  WatchedStore safe(directory / "safe/not/there");
  EXPECT_EQ(safe->location(), directory / "safe/not/there/kernels-v1.db");
  EXPECT_FALSE(fs::exists(directory / "safe"));
  fs::create_directory(directory / "linked");
  ::chmod((directory / "linked").c_str(), 0700);
  fs::create_symlink("elsewhere", directory / "linked/kernels-v1.db");
  EXPECT_EQ(WatchedStore(directory / "linked")->location(), "");
}

TEST(CacheLocations, EachRefusedPlaceIsWarnedOf) {
  std::vector<std::string> warnings;
  std::vector<std::shared_ptr<KernelStore>> stores;
  for (const char* directory : {"one", "two", "one"}) {
    StoreConfig config;
    config.directory = directory;
    config.warn = [&](std::string_view text) { warnings.emplace_back(text); };
    stores.push_back(open_store(config));
    EXPECT_EQ(stores.back()->location(), "");
  }
  EXPECT_EQ(warnings.size(), 2u);
  EXPECT_EQ(stores[0], stores[2]);
  EXPECT_NE(stores[0], stores[1]);
}

/// The lines that reach the log.
struct Lines {
  Lines() { set_log_sink(add, this); }
  ~Lines() {
    set_log_sink(nullptr, nullptr);
    set_log_level(LogLevel::warning);
  }
  static void add(void* self, LogLevel, const char* line) {
    static_cast<Lines*>(self)->all.emplace_back(line);
  }
  std::vector<std::string> all;
};

TEST(CacheLocations, WarningsObeyTheLogLevel) {
  Lines lines;
  const auto open = [] {
    StoreConfig config;
    config.directory = "relative";
    return KernelStore(config, find_place(config.directory, config.environment)).location();
  };
  for (const LogLevel level : {LogLevel::quiet, LogLevel::error}) {
    set_log_level(level);
    EXPECT_EQ(open(), "");
    EXPECT_TRUE(lines.all.empty());
  }
  set_log_level(LogLevel::warning);
  EXPECT_EQ(open(), "");
  EXPECT_EQ(lines.all.size(), 1u);
}

}  // namespace
}  // namespace fuseplan::test
