// SPDX-License-Identifier: MIT
#include "cache/file_lock.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "cache/private_file.hpp"
#include "cache/retry.hpp"

namespace fuseplan {
namespace {

bool set_lock(int fd, short type, std::int64_t byte) {
  struct flock request = {};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = byte;
  request.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &request) == 0;
}

// Registered in the same breath as it is opened, so that no fork falls in between.
Descriptor open_lock_file(const Descriptor& directory) {
  std::lock_guard lock(fork_state().descriptors);
  Descriptor fd = open_or_create(directory, kLockFile);
  if (fd) fork_state().lock_descriptors.insert(fd.get());
  return fd;
}

void close_lock_file(Descriptor& fd) {
  std::lock_guard lock(fork_state().descriptors);
  fork_state().lock_descriptors.erase(fd.get());
  fd = Descriptor();
}

}  // namespace

std::int64_t build_byte(const Digest& key) {
  std::uint64_t hash = 0;
  for (int i = 0; i < 8; ++i) hash |= static_cast<std::uint64_t>(key[i]) << (8 * i);
  return 1 + static_cast<std::int64_t>(hash & ((std::uint64_t{1} << 62) - 1));
}

std::optional<FileLock> FileLock::acquire(const Descriptor& directory, std::int64_t byte, Kind kind,
                                          std::chrono::milliseconds patience) {
  FileLock lock(open_lock_file(directory), byte);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const short type = kind == Kind::exclusive ? F_WRLCK : F_RDLCK;
  while (lock.held() && !set_lock(lock.fd_.get(), type, byte)) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      close_lock_file(lock.fd_);  // no such locks here
      break;
    }
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    pause_between_attempts();
  }
  return lock;
}

FileLock::~FileLock() {
  if (!held()) return;
  if (generation_.stale()) {
    fd_.release();  // closed at the fork
    return;
  }
  // Explicitly: a child forked by the host may still hold the description open.
  set_lock(fd_.get(), F_UNLCK, byte_);
  close_lock_file(fd_);
}

}  // namespace fuseplan
