// SPDX-License-Identifier: MIT
// The disk is full, read-only, or a limit of the process is met: everything still works, with one
// warning, and storing resumes when the disk does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

void limit(int resource, rlim_t soft) {
  rlimit limits;
  ASSERT_EQ(::getrlimit(static_cast<__rlimit_resource>(resource), &limits), 0);
  limits.rlim_cur = soft;
  ASSERT_EQ(::setrlimit(static_cast<__rlimit_resource>(resource), &limits), 0);
}

// Puts and finds `count` rows beginning with `first`; all must be there.
void use(WatchedStore& store, int first, int count, std::size_t bytes = 20000) {
  for (int i = first; i < first + count; ++i) {
    store->put(sample_key(i), sample_row(i, bytes));
    EXPECT_EQ(store->find(sample_key(i)), sample_row(i, bytes)) << i;
  }
}

// Counts how often the lock file is opened: once for each attempt at a store.
class AttemptCounter {
 public:
  explicit AttemptCounter(const std::string& directory) : fd_(::inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(::inotify_add_watch(fd_, directory.c_str(), IN_OPEN), 0);
  }
  ~AttemptCounter() { ::close(fd_); }

  int count() {
    alignas(inotify_event) char buffer[65536];
    for (ssize_t got; (got = ::read(fd_, buffer, sizeof buffer)) > 0;)
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        if (event->len > 0 && std::strcmp(event->name, kLockFile) == 0) ++count_;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    return count_;
  }

 private:
  int fd_;
  int count_ = 0;
};

struct Squeeze {
  std::function<void()> apply, release;
};

void survive_full_disk(const std::string& directory, const Squeeze& squeeze) {
  WatchedStore store(directory);
  use(store, 0, 3);
  EXPECT_EQ(store->stats().stored, 3u);
  EXPECT_TRUE(store.warnings.empty());

  squeeze.apply();
  AttemptCounter attempts(directory);
  const auto begin = Clock::now();
  int rows = 0;
  while (Clock::now() - begin < milliseconds(1300)) use(store, 100 + rows++, 1);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
  const StoreStats full = store->stats();
  std::printf("%d rows while full, %d attempts to store\n", rows, attempts.count());
  EXPECT_EQ(store.warnings.size(), 1u);
  EXPECT_GE(rows, 100);
  EXPECT_GE(full.dropped, 100u);
  EXPECT_GE(attempts.count(), 1);
  EXPECT_LE(attempts.count(), 2 * (seconds + 1))
      << "at most one try a second, and another with more evicted";
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(WatchedStore(directory)->find(sample_key(i)), sample_row(i, 20000));

  squeeze.release();
  std::this_thread::sleep_for(milliseconds(1050));
  use(store, 50, 3);
  EXPECT_EQ(store->stats().stored, full.stored + 3);
  EXPECT_EQ(store.warnings.size(), 1u);
  EXPECT_TRUE(store->verify(true).problems.empty());
}

void mount_tmpfs(const std::string& at, const char* options) {
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(::mount("tmpfs", at.c_str(), "tmpfs", 0, options), 0);
}

TEST(CacheLimits, FullDisk) {
  for (const char* size : {"size=192k", "size=1m"}) {
    TemporaryDirectory directory;
    directory.give_away();
    EXPECT_TRUE(passes_in_child([&] {
      Squeeze squeeze;
      if (::geteuid() == 0) {
        mount_tmpfs(directory.path(), (std::string(size) + ",mode=0700,uid=65534").c_str());
        squeeze.apply = [&] {
          std::ofstream filler(directory / "filler", std::ios::binary);
          while (filler.write(std::string(4096, 'x').data(), 4096).flush()) {
          }
        };
        squeeze.release = [&] { fs::remove(directory / "filler"); };
      } else {  // no mounts for us: the file may not grow
        squeeze.apply = [&] { limit(RLIMIT_FSIZE, 4096); };
        squeeze.release = [&] { limit(RLIMIT_FSIZE, RLIM_INFINITY); };
      }
      drop_privileges();
      survive_full_disk(directory / "cache", squeeze);
    })) << size;
  }
}

TEST(CacheLimits, TinyDisk) {
  if (::geteuid() != 0) return;  // FileSizeLimit is the same, less realistic
  for (const char* size : {"size=4k", "size=16k", "size=32k", "size=64k"}) {
    TemporaryDirectory directory;
    EXPECT_TRUE(passes_in_child([&] {
      mount_tmpfs(directory.path(), (std::string(size) + ",mode=0700,uid=65534").c_str());
      drop_privileges();
      WatchedStore store(directory.path());
      use(store, 0, 10);
      EXPECT_EQ(store.warnings.size(), 1u);
    })) << size;
  }
}

// A host that has SIGXFSZ at its default dies of its own writes, and must not die of ours.
TEST(CacheLimits, FileSizeLimit) {
  TemporaryDirectory control;
  const pid_t host = start_child([&] {
    limit(RLIMIT_FSIZE, 100);
    std::ofstream(control / "file") << std::string(1000, 'x') << std::flush;
  });
  const int status = wait_for_child(host);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);

  for (const rlim_t bytes : {0, 1, 4096, 5000, 20000, 40000, 65536, 262144, 1 << 20}) {
    TemporaryDirectory directory;
    EXPECT_TRUE(passes_in_child([&] {
      limit(RLIMIT_FSIZE, bytes);
      sigset_t before, after, pending;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
      WatchedStore store(directory.path());
      use(store, 0, 60);
      EXPECT_EQ(store.warnings.size(), 1u);
      ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
      ::sigpending(&pending);
      for (int signal = 1; signal < 32; ++signal)
        EXPECT_EQ(::sigismember(&before, signal), ::sigismember(&after, signal)) << signal;
      EXPECT_FALSE(::sigismember(&pending, SIGXFSZ));
    })) << bytes;
  }
}

TEST(CacheLimits, NoDescriptorsLeft) {
  for (int spare = 0; spare <= 8; ++spare) {
    TemporaryDirectory directory;
    EXPECT_TRUE(passes_in_child([&] {
      const int next = ::dup(0);
      ASSERT_GE(next, 0);
      ::close(next);
      limit(RLIMIT_NOFILE, static_cast<rlim_t>(next + spare));
      WatchedStore store(directory.path());
      use(store, 0, 5);
      EXPECT_LE(store.warnings.size(), 1u);
      EXPECT_EQ(store.warnings.empty(), store->stats().stored == 5);
      limit(RLIMIT_NOFILE, 256);
      const int after = ::dup(0);
      EXPECT_LE(after, next + 1) << "descriptors leak";
    })) << spare;
  }
}

TEST(CacheLimits, StandardStreamsAreNeverReused) {
  TemporaryDirectory directory;
  EXPECT_TRUE(passes_in_child([&] {
    const int saved = ::fcntl(1, F_DUPFD, 10);
    ::close(0), ::close(1), ::close(2);
    {
      WatchedStore store(directory.path());
      use(store, 0, 3);
      EXPECT_EQ(store->stats().stored, 3u);
      for (int fd = 0; fd < 3; ++fd) {
        char name[4096] = {};
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        const ssize_t length = ::readlink(link.c_str(), name, sizeof name - 1);
        EXPECT_TRUE(length < 0 || std::strcmp(name, "/dev/null") == 0) << name;
      }
    }
    ::dup2(saved, 1);
  }));
}

void read_only_directory_works(const std::string& directory) {
  WatchedStore store(directory);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(store->find(sample_key(i)), sample_row(i, 20000));
  EXPECT_EQ(store->stats().hits_disk, 10u);
  EXPECT_TRUE(store.warnings.empty());
  use(store, 100, 10);
  EXPECT_EQ(store->stats().stored, 0u);
  EXPECT_EQ(store->stats().dropped, 10u);
  EXPECT_EQ(store.warnings.size(), 1u);
}

TEST(CacheLimits, ReadOnlyDirectoryIsRead) {
  TemporaryDirectory directory;
  directory.give_away();
  EXPECT_TRUE(passes_in_child([&] {
    drop_privileges();
    {
      WatchedStore store(directory / "c");
      use(store, 0, 10);
    }
    fs::remove(directory / "c/kernels-v1.db-journal");
    ASSERT_EQ(::chmod((directory / "c").c_str(), 0500), 0);
    read_only_directory_works(directory / "c");
    ASSERT_EQ(::chmod((directory / "c/kernels-v1.db").c_str(), 0400), 0);
    read_only_directory_works(directory / "c");
    ASSERT_EQ(::chmod((directory / "c").c_str(), 0700), 0);
  }));
}

TEST(CacheLimits, ReadOnlyFileSystemIsReadAndRecovers) {
  if (::geteuid() != 0) return;  // the test above covers the reading
  TemporaryDirectory directory;
  EXPECT_TRUE(passes_in_child([&] {
    mount_tmpfs(directory.path(), "size=4m,mode=0700");
    {
      WatchedStore store(directory / "c");
      use(store, 0, 10);
    }
    const auto remount = [&](unsigned long flags) {
      ASSERT_EQ(::mount("none", directory.path().c_str(), nullptr, MS_REMOUNT | flags, nullptr), 0);
    };
    remount(MS_RDONLY);
    read_only_directory_works(directory / "c");
    WatchedStore store(directory / "c");
    use(store, 200, 1);
    EXPECT_EQ(store.warnings.size(), 1u);
    remount(0);
    std::this_thread::sleep_for(milliseconds(1050));
    use(store, 300, 5);
    EXPECT_EQ(store->stats().stored, 5u);
    EXPECT_EQ(store.warnings.size(), 1u);
  }));
}

}  // namespace
}  // namespace fuseplan::test
