// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/elf_object.hpp"

namespace fuseplan {

/// Who is told the names of loaded CPU kernels.
struct JitListeners {
  bool perf = false;  ///< a line a function in /tmp/perf-<pid>.map, where perf looks for it
  bool gdb = false;   ///< the object itself, through gdb's JIT interface
};

/// A kernel's names with those who listen, for as long as it is loaded.
/// perf: Linux tools/perf/Documentation/jit-interface.txt. gdb: "JIT Compilation Interface" of its
/// manual; it reads the object with the load address of .text filled in.
class JitSymbols {
 public:
  JitSymbols(const JitListeners& listeners, std::span<const std::byte> object, const ElfCode& elf,
             const std::byte* code);
  ~JitSymbols();
  JitSymbols(const JitSymbols&) = delete;
  JitSymbols& operator=(const JitSymbols&) = delete;

 private:
  struct GdbEntry;
  std::unique_ptr<GdbEntry> entry_;
};

}  // namespace fuseplan
