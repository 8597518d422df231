// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

// What SQLite asks of the disk, seen by a test: it lets each call through, fails it, or does
// something of its own before.
namespace fuseplan::test {

enum class Io { read, write, truncate, sync, size, lock, control, open, remove, access };

/// Asked before each call: SQLITE_OK lets it through, another code is what SQLite gets instead.
/// `detail`: the level of a lock that is taken, the number of a control, 0 for all others.
using DiskHook = std::function<int(Io io, int detail)>;

/// SQLite's default way to the disk for as long as it lives; connections must not live longer.
class HookedDisk {
 public:
  explicit HookedDisk(DiskHook hook) : hook_(std::move(hook)), real_(sqlite3_vfs_find(nullptr)) {
    vfs_ = *real_;
    vfs_.zName = "hooked";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.pAppData = this;
    vfs_.xOpen = open;
    vfs_.xDelete = [](sqlite3_vfs* vfs, const char* name, int sync) {
      HookedDisk& disk = of(vfs);
      if (const int code = disk.hook_(Io::remove, 0); code != SQLITE_OK) return code;
      return disk.real_->xDelete(disk.real_, name, sync);
    };
    vfs_.xAccess = [](sqlite3_vfs* vfs, const char* name, int flags, int* result) {
      HookedDisk& disk = of(vfs);
      if (const int code = disk.hook_(Io::access, 0); code != SQLITE_OK) return code;
      return disk.real_->xAccess(disk.real_, name, flags, result);
    };
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, 1), SQLITE_OK);
  }
  ~HookedDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
  }
  HookedDisk(const HookedDisk&) = delete;
  HookedDisk& operator=(const HookedDisk&) = delete;

 private:
  using Methods = sqlite3_io_methods;
  using Offset = sqlite3_int64;

  /// A file of ours, with SQLite's own behind it.
  struct File {
    sqlite3_file base;
    HookedDisk* disk;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File& ours(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static HookedDisk& of(sqlite3_vfs* vfs) { return *static_cast<HookedDisk*>(vfs->pAppData); }

  static int detail_of() { return 0; }
  template <typename First, typename... Rest>
  static int detail_of(First first, Rest...) {
    if constexpr (std::is_same_v<First, int>) return first;
    return 0;
  }

  template <auto Method, Io kIo, typename... Args>
  static int call(sqlite3_file* file, Args... args) {
    File& own = ours(file);
    const int detail = kIo == Io::lock || kIo == Io::control ? detail_of(args...) : 0;
    if (const int code = own.disk->hook_(kIo, detail); code != SQLITE_OK) return code;
    return (own.real()->pMethods->*Method)(own.real(), args...);
  }
  template <auto Method, typename... Args>
  static int pass(sqlite3_file* file, Args... args) {
    File& own = ours(file);
    return (own.real()->pMethods->*Method)(own.real(), args...);
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    HookedDisk& disk = of(vfs);
    file->pMethods = nullptr;
    if (const int code = disk.hook_(Io::open, 0); code != SQLITE_OK) return code;
    File& own = ours(file);
    own.disk = &disk;
    std::memset(own.real(), 0, sizeof(sqlite3_file));
    const int code = disk.real_->xOpen(disk.real_, name, own.real(), flags, out);
    if (code == SQLITE_OK) file->pMethods = &kMethods;
    return code;
  }

  // Version 1: no shared memory and no mapping, which the store does not use.
  static constexpr Methods kMethods{1,
                                    pass<&Methods::xClose>,
                                    call<&Methods::xRead, Io::read, void*, int, Offset>,
                                    call<&Methods::xWrite, Io::write, const void*, int, Offset>,
                                    call<&Methods::xTruncate, Io::truncate, Offset>,
                                    call<&Methods::xSync, Io::sync, int>,
                                    call<&Methods::xFileSize, Io::size, Offset*>,
                                    call<&Methods::xLock, Io::lock, int>,
                                    pass<&Methods::xUnlock, int>,
                                    call<&Methods::xCheckReservedLock, Io::lock, int*>,
                                    call<&Methods::xFileControl, Io::control, int, void*>,
                                    pass<&Methods::xSectorSize>,
                                    pass<&Methods::xDeviceCharacteristics>,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr};

  DiskHook hook_;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
};

}  // namespace fuseplan::test
