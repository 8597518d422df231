// SPDX-License-Identifier: MIT
#include "backend/code_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/status.hpp"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3
#endif

namespace fuseplan {
namespace {

/// The size of every small mapping; pages that no code reaches are never touched.
constexpr std::size_t kKeptBytes = 64 << 10;
/// A mapping of that size that nobody uses, executable still.
std::atomic<void*> kept{nullptr};

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// A page that nobody may touch lies on either side. Beside other memory the kernel would join and
// split its records of both whenever rights change, which takes longer than changing them.
void* guarded_memory(std::size_t bytes) {
  const std::size_t page = page_bytes();
  void* memory = mmap(nullptr, bytes + 2 * page, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  void* inside = static_cast<std::byte*>(memory) + page;
  if (mprotect(inside, bytes, PROT_READ | PROT_WRITE) == 0) return inside;
  munmap(memory, bytes + 2 * page);
  return nullptr;
}

void unmap_guarded(void* inside, std::size_t bytes) {
  const std::size_t page = page_bytes();
  munmap(static_cast<std::byte*>(inside) - page, bytes + 2 * page);
}

void* writable_memory(std::size_t bytes) {
  if (bytes == kKeptBytes) {
    void* memory = kept.exchange(nullptr, std::memory_order_acquire);
    if (memory != nullptr && mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) return memory;
    if (memory != nullptr) unmap_guarded(memory, bytes);
  }
  return guarded_memory(bytes);
}

void* map_and_protect(std::span<const std::byte> code, std::size_t bytes) {
  void* memory = writable_memory(bytes);
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) == 0) return memory;
  unmap_guarded(memory, bytes);
  return nullptr;
}

int open_memory_file() {
  const int file = memfd_create("fuseplan", MFD_CLOEXEC | MFD_EXEC);
  // Kernels before 6.3 do not know MFD_EXEC and answer EINVAL.
  return file >= 0 || errno != EINVAL ? file : memfd_create("fuseplan", MFD_CLOEXEC);
}

void* map_memory_file(std::span<const std::byte> code, std::size_t bytes) {
  const int file = open_memory_file();
  if (file < 0) return nullptr;
  void* result = nullptr;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    void* writable = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (writable != MAP_FAILED) {
      std::memcpy(writable, code.data(), code.size());
      munmap(writable, bytes);
      result = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
      if (result == MAP_FAILED) result = nullptr;
    }
  }
  close(file);
  return result;
}

}  // namespace

CodeMemory::CodeMemory(std::span<const std::byte> code) {
  if (code.empty()) return;
  const std::size_t page = page_bytes();
  bytes_ = std::max((code.size() + page - 1) / page * page, kKeptBytes);
  memory_ = map_and_protect(code, bytes_);
  guarded_ = memory_ != nullptr;
  if (memory_ == nullptr) memory_ = map_memory_file(code, bytes_);
  if (memory_ != nullptr) return;
  fail(Status::UnsupportedOp,
       "this system allows no generated code: neither mprotect(PROT_EXEC) nor an executable "
       "memory file ({})",
       std::strerror(errno));
}

CodeMemory::~CodeMemory() {
  if (guarded_ && bytes_ == kKeptBytes) memory_ = kept.exchange(memory_, std::memory_order_release);
  if (memory_ == nullptr) return;
  guarded_ ? unmap_guarded(memory_, bytes_) : static_cast<void>(munmap(memory_, bytes_));
}

}  // namespace fuseplan
