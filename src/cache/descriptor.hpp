// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

namespace fuseplan {

/// An owned file descriptor, never one of 0, 1 and 2: a host that closed its standard streams must
/// not find its output in our files.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of `fd`; a negative one means none.
  explicit Descriptor(int fd);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace fuseplan
