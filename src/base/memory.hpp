// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace fuseplan {

/// Where buffers come from: the caller's functions (fuseplanSetAllocator) or the system's.
/// `allocate` may return memory of any alignment; Buffer aligns inside it.
struct Allocator {
  void* (*allocate)(void* context, std::size_t bytes) = nullptr;  ///< nullptr: posix_memalign
  void (*deallocate)(void* context, void* memory) = nullptr;
  void* context = nullptr;
};

/// Owned memory aligned to a cache line, contents undefined. Throws Error(AllocFailed).
class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  explicit Buffer(std::size_t bytes, const Allocator& allocator = {});
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* raw_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Allocator allocator_;
};

/// Memory that belongs to the calling thread and is kept for its next call, so that Execute stops
/// allocating once it has seen its largest plan. Each `Scratch` object hands out pieces of it and
/// gives them back, last in first out, when it is destroyed.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Aligned to Buffer::kAlignment, contents undefined. Throws Error(AllocFailed).
  void* take(std::size_t bytes);
  template <typename T>
  T* take_array(std::size_t count) {
    constexpr std::size_t kMost = static_cast<std::size_t>(-1) / sizeof(T);
    return static_cast<T*>(take(count > kMost ? static_cast<std::size_t>(-1) : count * sizeof(T)));
  }

 private:
  std::size_t mark_block_, mark_used_;
};

}  // namespace fuseplan
