// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <mutex>

namespace fuseplan {

/// Forks between the process that loaded the library and this one. A child of fork inherits memory
/// as it was, with only the forking thread alive: what other threads were about to do is not done.
unsigned fork_generation();

/// True in a child for things made before its fork.
class Generation {
 public:
  Generation() : made_(fork_generation()) {}
  bool stale() const { return made_ != fork_generation(); }

 private:
  unsigned made_;
};

/// A mutex whose holder may not be there any more: a child of fork has another one. What it guards
/// must be whole after each store, since a child may see it after any. For objects that live for
/// ever: what the parent's holder may still unlock is never freed.
class ForkedMutex {
 public:
  [[nodiscard]] std::unique_lock<std::mutex> lock();

 private:
  struct Mutex {
    explicit Mutex(Mutex* parents) : before(parents) {}
    Mutex* before;
    std::mutex mutex;
    Generation generation;
  };
  std::atomic<Mutex*> current_{nullptr};
};

}  // namespace fuseplan
