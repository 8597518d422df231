// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/digest.hpp"
#include "cache/descriptor.hpp"
#include "cache/fork.hpp"

namespace fuseplan {

inline constexpr char kLockFile[] = "fuseplan.lock";

/// Byte 0 of the lock file keeps a damaged database from being set aside under a writer.
inline constexpr std::int64_t kMaintenanceByte = 0;

/// The byte that stands for building this key. Two keys on one byte only wait for each other.
std::int64_t build_byte(const Digest& key);

/// An open-file-description lock on one byte of the lock file. The kernel drops it when its owner
/// dies, a forked child does not keep it, and nothing else in the process can lose it for us.
class FileLock {
 public:
  enum class Kind { shared, exclusive };

  /// Nothing when the byte is still taken after `patience`. A lock without effect (held() false)
  /// where the lock file cannot be made or the file system has no such locks.
  static std::optional<FileLock> acquire(const Descriptor& directory, std::int64_t byte, Kind kind,
                                         std::chrono::milliseconds patience);
  ~FileLock();
  FileLock(FileLock&& other) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;

  bool held() const { return static_cast<bool>(fd_); }

 private:
  FileLock(Descriptor fd, std::int64_t byte) : fd_(std::move(fd)), byte_(byte) {}

  Descriptor fd_;
  std::int64_t byte_;
  Generation generation_;
};

}  // namespace fuseplan
