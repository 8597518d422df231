// SPDX-License-Identifier: MIT
#include "failing_memory/failing_memory.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>

namespace fuseplan::test {

constinit thread_local Trap trap;
std::atomic<long> living{0};

namespace {

bool springs() {
  if (trap.left < 0) return false;
  if (trap.left > 0) {
    --trap.left;
    return false;
  }
  trap.sprung = true;
  if (!trap.stays) trap.left = -1;
  return true;
}

void* take(std::size_t bytes) {
  if (springs()) return nullptr;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory != nullptr) ++living;
  return memory;
}

void give(void* memory) noexcept {
  if (memory != nullptr) --living;
  std::free(memory);
}

}  // namespace
}  // namespace fuseplan::test

using namespace fuseplan::test;

void* operator new(std::size_t bytes) {
  if (void* memory = take(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, std::size_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give(memory); }

extern "C" __attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                                      std::size_t bytes) noexcept {
  void* memory = nullptr;
  if (springs() || posix_memalign(&memory, alignment, bytes) != 0) errno = ENOMEM;
  return memory;
}
