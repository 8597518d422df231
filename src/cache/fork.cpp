// SPDX-License-Identifier: MIT
#include "cache/fork.hpp"

#include <pthread.h>
#include <unistd.h>

namespace fuseplan {
namespace {

void before_fork() {
  fork_state().disk.lock();
  fork_state().memory.lock();
  fork_state().descriptors.lock();
}

void release() {
  fork_state().descriptors.unlock();
  fork_state().memory.unlock();
  fork_state().disk.unlock();
}

void in_child() {
  ForkState& state = fork_state();
  // Close, never unlock: the lock belongs to the open file description, which the parent shares.
  for (const int fd : state.lock_descriptors) ::close(fd);
  state.lock_descriptors.clear();
  release();
}

}  // namespace

ForkState& fork_state() {
  static ForkState* const state = [] {
    ::pthread_atfork(before_fork, release, in_child);
    return new ForkState;
  }();
  return *state;
}

}  // namespace fuseplan
