// SPDX-License-Identifier: MIT
// The files are removed, replaced or cut short while a store has them open.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "cache/single_flight.hpp"
#include "cache/sqlite.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"

namespace fuseplan::test {
namespace {

namespace fs = std::filesystem;
constexpr int kRows = 6;

struct Accident {
  const char* name;
  std::function<void(const std::string& directory)> happen;
};

void cut(const std::string& path, std::uintmax_t bytes) {
  EXPECT_EQ(::truncate(path.c_str(), static_cast<off_t>(bytes)), 0) << path;
}

constexpr char kDb[] = "/kernels-v1.db";

void put_in_place(const std::string& directory, const std::string& bytes) {
  std::ofstream(directory + "/new", std::ios::binary) << bytes;
  ::chmod((directory + "/new").c_str(), 0600);
  fs::rename(directory + "/new", directory + kDb);
}

const Accident kAccidents[] = {
    {"rm -rf", [](auto& d) { fs::remove_all(d); }},
    {"directory moved",
     [](auto& d) {
       fs::remove_all(d + "-moved");
       fs::rename(d, d + "-moved");
     }},
    {"database removed", [](auto& d) { fs::remove(d + kDb); }},
    {"database moved", [](auto& d) { fs::rename(d + kDb, d + "/elsewhere"); }},
    {"database emptied", [](auto& d) { cut(d + kDb, 0); }},
    {"database halved", [](auto& d) { cut(d + kDb, fs::file_size(d + kDb) / 2); }},
    {"a byte off the end", [](auto& d) { cut(d + kDb, fs::file_size(d + kDb) - 1); }},
    {"journal emptied", [](auto& d) { cut(d + kDb + "-journal", 0); }},
    {"journal grown", [](auto& d) { cut(d + kDb + "-journal", 10000); }},
    {"journal removed", [](auto& d) { fs::remove(d + kDb + "-journal"); }},
    {"lock file removed", [](auto& d) { fs::remove(d + "/fuseplan.lock"); }},
    {"junk in place", [](auto& d) { put_in_place(d, std::string(9000, 'j')); }},
    {"empty file in place", [](auto& d) { put_in_place(d, ""); }},
    {"another database in place",
     [](auto& d) {
       {
         WatchedStore other(d + "-other");
         other->put(sample_key(1), sample_row(1));
       }
       fs::rename(d + "-other" + kDb, d + kDb);
       fs::remove_all(d + "-other");
     }},
};

// As a client would: whatever is there, the rows are right.
void compile(KernelStore& store, int round) {
  for (int i = 0; i < kRows; ++i) {
    const int plan = i < kRows - 1 ? i : 1000 + round;  // one new kernel in each round
    Outcome outcome;
    const Row row = get_or_build(
        store, sample_key(plan), [&] { return sample_row(plan); }, outcome);
    EXPECT_EQ(row, sample_row(plan)) << plan;
  }
}

TEST(CacheReplaced, FilesMayGoWhileOpen) {
  constexpr int kRounds = 56;
  TemporaryDirectory directory;
  const std::string cache = directory / "cache";
  StoreConfig config;
  config.memory_bytes = 0;
  WatchedStore store(cache, config);
  std::map<std::string, int> seen;
  for (int round = 0; round < kRounds; ++round) {
    const Accident& accident = kAccidents[round % std::size(kAccidents)];
    SCOPED_TRACE(accident.name);
    compile(*store, 2 * round);
    accident.happen(cache);
    compile(*store, 2 * round + 1);
    compile(*store, 2 * round + 1);
    ++seen[accident.name];
    // All of it is on disk again, where another process finds it.
    WatchedStore other(cache, config);
    for (int i = 0; i < kRows - 1; ++i)
      EXPECT_EQ(other->find(sample_key(i)), sample_row(i)) << "row " << i;
    EXPECT_EQ(other->find(sample_key(1000 + 2 * round + 1)), sample_row(1000 + 2 * round + 1));
  }
  const StoreStats stats = store->stats();
  std::printf("%d accidents of %zu kinds, %lu kernels rebuilt, %lu files set aside\n", kRounds,
              seen.size(), static_cast<unsigned long>(stats.builds),
              static_cast<unsigned long>(stats.set_aside));
  EXPECT_EQ(seen.size(), std::size(kAccidents));
  EXPECT_GE(stats.builds, 200u);
  EXPECT_GE(stats.set_aside, 4u);
  EXPECT_EQ(stats.dropped, 0u);
  EXPECT_EQ(store.warnings.size(), 1u);
}

TEST(CacheReplaced, WhatIsGoneIsNoLongerRead) {
  TemporaryDirectory directory;
  StoreConfig config;
  config.memory_bytes = 0;
  WatchedStore store(directory / "one", config);
  store->put(sample_key(1), sample_row(1));
  EXPECT_TRUE(store->find(sample_key(1)));
  WatchedStore(directory / "two", config)->put(sample_key(2), sample_row(2));
  fs::rename(directory.path() + "/two" + kDb, directory.path() + "/one" + kDb);
  EXPECT_FALSE(store->find(sample_key(1)));
  EXPECT_EQ(store->find(sample_key(2)), sample_row(2));
  fs::remove(directory.path() + "/one" + kDb);
  EXPECT_FALSE(store->find(sample_key(2)));
}

// Another process does it at random moments, while this one stores and looks up.
TEST(CacheReplaced, FilesMayGoAtAnyMoment) {
  TemporaryDirectory directory;
  const std::string cache = directory / "cache";
  const pid_t vandal = start_child([&] {
    Random random(3);
    for (int i = 0; i < 50; ++i) {
      ::usleep(static_cast<useconds_t>(random.between(1000, 20000)));
      try {
        const int kind = static_cast<int>(random.between(0, 4));
        if (kind == 0) fs::remove_all(cache);
        if (kind == 1) fs::rename(cache + kDb, cache + "/elsewhere");
        if (kind == 2) ::truncate((cache + kDb).c_str(), 0);
        if (kind == 3) ::truncate((cache + kDb).c_str(), 5000);
        if (kind == 4) ::truncate((cache + kDb + "-journal").c_str(), 0);
      } catch (const fs::filesystem_error&) {
        // not there at the moment
      }
    }
  });
  StoreConfig config;
  config.memory_bytes = 0;
  int rounds = 0;
  {
    WatchedStore store(cache, config);
    while (::waitpid(vandal, nullptr, WNOHANG) == 0) compile(*store, rounds++);
  }
  std::printf("%d rounds of compiling beside 50 acts of vandalism\n", rounds);
  EXPECT_GE(rounds, 50);
  WatchedStore store(cache, config);
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));  // a pause after trouble may be on
  compile(*store, 0);
  compile(*store, 0);
  EXPECT_EQ(WatchedStore(cache, config)->find(sample_key(0)), sample_row(0));
}

// What the settings protect from: the write-ahead log's shared memory, cut short, kills the host.
TEST(CacheReplaced, ControlWriteAheadLogDies) {
  TemporaryDirectory directory;
  const std::string path = directory / "wal.db";
  const pid_t host = start_child([&] {
    ::signal(SIGBUS, SIG_DFL);  // a sanitizer may have put its own there
    std::ofstream(path).flush();
    sqlite::Connection database(path, sqlite::Access::read_write);
    database.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1);");
    cut(path + "-shm", 0);
    database.execute("INSERT INTO t VALUES (2)");
  });
  const int status = wait_for_child(host);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
}

}  // namespace
}  // namespace fuseplan::test
