// SPDX-License-Identifier: MIT
// Each call that SQLite makes to the disk fails once, alone and with all that follow it: the store
// answers as if it had no disk, gives no wrong row, leaves no descriptor behind, and heals.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <filesystem>

#include "cache/sqlite.hpp"
#include "support/cache_rows.hpp"
#include "support/processes.hpp"

namespace fuseplan::test {
namespace {

/// The operations that can fail, and how.
enum class Io { read, write, truncate, sync, size, lock, open, remove, access, count };
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

  int code_for(Io io) {
    if (error == nullptr || error->io != io) return SQLITE_OK;
    if (left > 0) return --left, SQLITE_OK;
    if (sprung > 0 && !stays) return SQLITE_OK;
    ++sprung;
    return error->code;
  }
} plan;

/// A file of ours, with SQLite's own behind it.
struct File {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }

/// The real method with the same arguments, unless it is its turn to fail.
template <auto Method, Io kIo, typename... Args>
int call(sqlite3_file* file, Args... args) {
  if (const int code = plan.code_for(kIo); code != SQLITE_OK) return code;
  return (real(file)->pMethods->*Method)(real(file), args...);
}
template <auto Method, typename Result, typename... Args>
Result pass(sqlite3_file* file, Args... args) {
  return (real(file)->pMethods->*Method)(real(file), args...);
}

using M = sqlite3_io_methods;
using i64 = sqlite3_int64;
int close_file(sqlite3_file* file) {
  return real(file)->pMethods == nullptr ? SQLITE_OK : pass<&M::xClose, int>(file);
}

// Version 1: no shared memory and no mapping, which the store does not use.
const sqlite3_io_methods kMethods{
    1,
    close_file,
    call<&M::xRead, Io::read, void*, int, i64>,
    call<&M::xWrite, Io::write, const void*, int, i64>,
    call<&M::xTruncate, Io::truncate, i64>,
    call<&M::xSync, Io::sync, int>,
    call<&M::xFileSize, Io::size, i64*>,
    call<&M::xLock, Io::lock, int>,
    pass<&M::xUnlock, int, int>,
    call<&M::xCheckReservedLock, Io::lock, int*>,
    pass<&M::xFileControl, int, int, void*>,
    pass<&M::xSectorSize, int>,
    pass<&M::xDeviceCharacteristics, int>,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

/// SQLite's default way to the disk for as long as it lives.
class FailingDisk {
 public:
  FailingDisk() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
    vfs_.zName = "failing";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.pAppData = real_;
    vfs_.xOpen = [](sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
      file->pMethods = nullptr;
      if (const int code = plan.code_for(Io::open); code != SQLITE_OK) return code;
      std::memset(real(file), 0, sizeof(sqlite3_file));
      auto* next = static_cast<sqlite3_vfs*>(vfs->pAppData);
      const int code = next->xOpen(next, name, real(file), flags, out);
      if (code == SQLITE_OK) file->pMethods = &kMethods;
      return code;
    };
    vfs_.xDelete = [](sqlite3_vfs* vfs, const char* name, int sync) {
      if (const int code = plan.code_for(Io::remove); code != SQLITE_OK) return code;
      auto* next = static_cast<sqlite3_vfs*>(vfs->pAppData);
      return next->xDelete(next, name, sync);
    };
    vfs_.xAccess = [](sqlite3_vfs* vfs, const char* name, int flags, int* result) {
      if (const int code = plan.code_for(Io::access); code != SQLITE_OK) return code;
      auto* next = static_cast<sqlite3_vfs*>(vfs->pAppData);
      return next->xAccess(next, name, flags, result);
    };
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, 1), SQLITE_OK);
  }
  ~FailingDisk() {
    plan = {};
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
  }
  FailingDisk(const FailingDisk&) = delete;

 private:
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
};

int open_descriptors() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
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

  /// What a process does while the disk fails. Returns how often it did.
  int use_failing(const IoError& error, int number, bool stays) {
    plan = {&error, number, stays, 0};
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
    const int sprung = plan.sprung;
    plan = {};
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
    EXPECT_EQ(report.bad, 0u);
    EXPECT_TRUE(report.problems.empty());
  }

  TemporaryDirectory directory_;
};

TEST_F(CacheIoErrors, OfEveryCall) {
  const FailingDisk disk;
  use_healed();
  const int descriptors = open_descriptors();
  int failures = 0;
  for (const IoError& error : kErrors) {
    int seen = 0;
    for (const bool stays : {false, true})
      for (int number = 0; use_failing(error, number, stays) > 0; ++number) {
        SCOPED_TRACE(std::string(error.name) + " " + std::to_string(number) +
                     (stays ? " and all behind it" : ""));
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

}  // namespace
}  // namespace fuseplan::test
