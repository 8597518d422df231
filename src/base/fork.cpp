// SPDX-License-Identifier: MIT
#include "base/fork.hpp"

#include <pthread.h>

#include <memory>

namespace fuseplan {
namespace {

std::atomic<unsigned> generation{0};

// When the library is loaded: before that, nothing of it can be in use.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

std::unique_lock<std::mutex> ForkedMutex::lock() {
  Mutex* mutex = current_.load();
  if (mutex == nullptr || mutex->generation.stale()) {
    auto made = std::make_unique<Mutex>(mutex);
    if (current_.compare_exchange_strong(mutex, made.get())) mutex = made.release();
  }
  return std::unique_lock(mutex->mutex);
}

}  // namespace fuseplan
