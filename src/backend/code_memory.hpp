// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace fuseplan {

/// Machine code mapped read-only and executable. It is written through a mapping that is not
/// executable and never has both rights at once: RW then RX by mprotect or, where the system
/// refuses that, a memory file written through one mapping and executed through another.
class CodeMemory {
 public:
  /// Throws Error(UnsupportedOp) if the system allows no generated code at all.
  explicit CodeMemory(std::span<const std::byte> code);
  /// Keeps a small mapping for the next object of this class, one for the process: its pages are
  /// there already, which is most of what code of a few kilobytes costs.
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  const std::byte* data() const { return static_cast<const std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  bool guarded_ = false;  ///< private memory between two pages that nobody may touch
};

}  // namespace fuseplan
