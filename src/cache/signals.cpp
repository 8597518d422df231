// SPDX-License-Identifier: MIT
#include "cache/signals.hpp"

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace fuseplan {
namespace {

constexpr int kWriteSignals[] = {SIGXFSZ, SIGPIPE};

}  // namespace

WriteSignalShield::WriteSignalShield() {
  sigemptyset(&ours_);
  for (const int signal : kWriteSignals) sigaddset(&ours_, signal);
  sigpending(&pending_before_);
  pthread_sigmask(SIG_BLOCK, &ours_, &mask_before_);
}

WriteSignalShield::~WriteSignalShield() {
  const int saved_errno = errno;
  for (const int signal : kWriteSignals) {
    if (sigismember(&pending_before_, signal)) continue;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    const timespec now{};
    while (sigtimedwait(&one, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  errno = saved_errno;
}

}  // namespace fuseplan
