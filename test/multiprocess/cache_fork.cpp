// SPDX-License-Identifier: MIT
// The host forks with a store open, at any moment: parent and child go on, each for itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "cache/single_flight.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

using std::chrono::milliseconds;

// Open descriptors of files with this name.
std::vector<int> descriptors_of(const std::string& name) {
  std::vector<int> found;
  for (int fd = 3; fd < 256; ++fd) {
    char target[4096] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
        std::string_view(target).ends_with(name))
      found.push_back(fd);
  }
  return found;
}

// Puts another file behind the connection's inherited descriptor. Whoever reads there finds
// nothing, writes become visible, and so does a close.
class Decoy {
 public:
  Decoy(const std::string& path, std::vector<int> inherited) : inherited_(std::move(inherited)) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (const int target : inherited_) EXPECT_EQ(::dup2(fd, target), target);
    EXPECT_EQ(::fstat(fd, &before_), 0);
    ::close(fd);
  }
  void expect_untouched() const {
    for (const int fd : inherited_) {
      struct stat now;
      ASSERT_EQ(::fstat(fd, &now), 0) << "the inherited descriptor was closed";
      EXPECT_EQ(now.st_ino, before_.st_ino) << "the inherited descriptor was reused";
      EXPECT_EQ(now.st_size, 0) << "the inherited descriptor was written to";
    }
  }

 private:
  std::vector<int> inherited_;
  struct stat before_ = {};
};

StoreConfig without_memory() {
  StoreConfig config;
  config.memory_bytes = 0;
  return config;
}

void live_in_child(WatchedStore& store, const std::string& scratch, int number) {
  ::alarm(20);
  const std::vector<int> inherited = descriptors_of(kDatabaseFile);
  EXPECT_EQ(inherited.size(), 1u);
  EXPECT_TRUE(descriptors_of(kLockFile).empty()) << "a lock was inherited";
  const Decoy decoy(scratch, inherited);
  EXPECT_EQ(store->find(sample_key(1)), sample_row(1)) << "the row in the database was not found";
  Outcome outcome;
  const Row row = get_or_build(
      *store, sample_key(number), [&] { return sample_row(number); }, outcome);
  EXPECT_EQ(row, sample_row(number));
  EXPECT_EQ(outcome, Outcome::built);
  EXPECT_EQ(descriptors_of(kDatabaseFile).size(), 1u) << "the child has no connection of its own";
  decoy.expect_untouched();
}

TEST(CacheFork, ParentAndChildGoOn) {
  constexpr int kForks = 125;
  TemporaryDirectory directory;
  WatchedStore store(directory / "cache", without_memory());
  store->put(sample_key(1), sample_row(1));
  std::atomic<bool> stop{false};
  std::atomic<int> stored{0};
  std::thread busy([&] {
    for (int i = 0; !stop; ++i, ++stored) {
      store->put(sample_key(100000 + i % 50), sample_row(i % 50));
      store->erase(sample_key(100000 + i % 50));
    }
  });
  int good = 0;
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = start_child([&] { live_in_child(store, directory / "decoy", 1000 + i); });
    good += succeeded(child);
    EXPECT_EQ(store->find(sample_key(1000 + i)), sample_row(1000 + i)) << "the child's row";
  }
  stop = true;
  busy.join();
  std::printf("%d of %d children went on, beside %d stores\n", good, kForks, stored.load());
  EXPECT_EQ(good, kForks);
  EXPECT_GE(stored, kForks);
  EXPECT_EQ(store->stats().set_aside, 0u);
  EXPECT_TRUE(store.warnings.empty()) << store.warnings[0];
  EXPECT_TRUE(store->verify(true).problems.empty());
}

// The thread that builds stayed in the parent; the child waits for its lock, not for its flight.
TEST(CacheFork, AChildDoesNotWaitForAThreadItDoesNotHave) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path(), without_memory());
  std::atomic<bool> building{false};
  const auto slow = [&] {
    building = true;
    std::this_thread::sleep_for(milliseconds(200));
    return sample_row(1);
  };
  std::thread builder([&] {
    Outcome outcome;
    get_or_build(*store, sample_key(1), slow, outcome);
    EXPECT_EQ(outcome, Outcome::built);
  });
  while (!building) std::this_thread::sleep_for(milliseconds(1));
  const pid_t child = start_child([&] {
    ::alarm(20);
    Outcome outcome;
    const Row row = get_or_build(
        *store, sample_key(1), [] { return sample_row(2); }, outcome);
    EXPECT_EQ(row, sample_row(1));
    EXPECT_EQ(outcome, Outcome::hit_disk);
  });
  builder.join();
  EXPECT_TRUE(succeeded(child));
}

// A build that forks (a compiler, say) must not leave its lock with the child.
TEST(CacheFork, AChildDoesNotKeepTheBuildLock) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  pid_t child = -1;
  Outcome outcome;
  get_or_build(
      *store, sample_key(1),
      [&] {
        EXPECT_EQ(descriptors_of(kLockFile).size(), 1u);
        child = start_child([] {
          EXPECT_TRUE(descriptors_of(kLockFile).empty());
          std::this_thread::sleep_for(milliseconds(1500));
        });
        return sample_row(1);
      },
      outcome);
  ASSERT_TRUE(store->erase(sample_key(1)));
  const auto begin = std::chrono::steady_clock::now();
  WatchedStore other(directory.path());
  get_or_build(
      *other, sample_key(1), [] { return sample_row(1); }, outcome);
  EXPECT_EQ(outcome, Outcome::built);
  EXPECT_LE(std::chrono::steady_clock::now() - begin, milliseconds(1000));
  EXPECT_TRUE(succeeded(child));
}

// A child that returns from the build it was forked in, instead of leaving with exec or _exit.
TEST(CacheFork, AChildMayFinishTheBuildItWasForkedIn) {
  TemporaryDirectory directory;
  WatchedStore store(directory.path());
  pid_t child = -1;
  Outcome outcome;
  const Row row = get_or_build(
      *store, sample_key(1),
      [&] {
        child = ::fork();
        return sample_row(1);
      },
      outcome);
  if (child == 0) {
    ::alarm(20);
    ::_exit(row == sample_row(1) && store->find(sample_key(1)) == sample_row(1) ? 0 : 1);
  }
  EXPECT_TRUE(succeeded(child));
  EXPECT_EQ(row, sample_row(1));
  EXPECT_EQ(WatchedStore(directory.path())->find(sample_key(1)), sample_row(1));
}

}  // namespace
}  // namespace fuseplan::test
