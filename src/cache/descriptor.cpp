// SPDX-License-Identifier: MIT
#include "cache/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace fuseplan {

Descriptor::Descriptor(int fd) : fd_(fd) {
  if (fd < 0 || fd > 2) return;
  fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  ::close(fd);
  errno = error;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace fuseplan
