// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <new>
#include <string>

// What tests that need other processes, other users or a directory of their own share.
namespace fuseplan::test {

inline constexpr unsigned kNobody = 65534;

/// A new directory with mode 0700 below $TMPDIR, /dev/shm or /tmp, deleted with all it holds.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Hands it to the user that drop_privileges() becomes.
  void give_away() const;

 private:
  std::string path_;
};

/// Root ignores permissions, so tests of permissions become nobody. Fails if still root.
void drop_privileges();

/// Forks; the child runs `role` and exits with 1 if a test assertion failed in it, else 0.
pid_t start_child(const std::function<void()>& role);
/// The child's wait status.
int wait_for_child(pid_t child);
/// True when the child exited with 0.
bool succeeded(pid_t child);
/// start_child and succeeded in one: a test body as another process.
bool passes_in_child(const std::function<void()>& role);

/// A T that parent and children see alike.
template <typename T>
class Shared {
 public:
  Shared()
      : value_(new (::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0)) T()) {}
  ~Shared() { ::munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

}  // namespace fuseplan::test
