// SPDX-License-Identifier: MIT
#include "backend/jit_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <mutex>

#include "base/log.hpp"

// gdb finds these by name; the layout is its jit-reader ABI, version 1.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;  // 0 none, 1 registered, 2 unregistered
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
__attribute__((used)) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
// gdb sets a breakpoint here; the call must stay a call.
__attribute__((used, noinline)) void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");
}
}

namespace fuseplan {
namespace {

std::mutex& gdb_mutex() {
  static std::mutex& mutex = *new std::mutex;  // kernels may be unloaded after main
  return mutex;
}

void tell_gdb(std::uint32_t action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
}

void tell_perf(const ElfCode& elf, const std::byte* code) {
  const std::string path = fmt::format("/tmp/perf-{}.map", getpid());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  std::string lines;
  for (const ElfCode::Symbol& symbol : elf.symbols)
    lines += fmt::format("{:x} {:x} fuseplan_{}\n",
                         reinterpret_cast<std::uintptr_t>(code + symbol.offset), symbol.size,
                         symbol.name);
  if (file < 0 || write(file, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
    log(LogLevel::warning, "jit", "cannot write {}: {}", path, std::strerror(errno));
  if (file >= 0) close(file);
}

}  // namespace

struct JitSymbols::GdbEntry {
  std::vector<std::byte> object;
  jit_code_entry link{};
};

JitSymbols::JitSymbols(const JitListeners& listeners, std::span<const std::byte> object,
                       const ElfCode& elf, const std::byte* code) {
  if (listeners.perf) tell_perf(elf, code);
  if (!listeners.gdb) return;
  entry_ = std::make_unique<GdbEntry>();
  entry_->object.assign(object.begin(), object.end());
  set_text_address(entry_->object, reinterpret_cast<std::uintptr_t>(code));
  entry_->link.symfile_addr = reinterpret_cast<const char*>(entry_->object.data());
  entry_->link.symfile_size = entry_->object.size();
  const std::lock_guard lock(gdb_mutex());
  jit_code_entry*& first = __jit_debug_descriptor.first_entry;
  entry_->link.next_entry = first;
  if (first != nullptr) first->prev_entry = &entry_->link;
  first = &entry_->link;
  tell_gdb(1, first);
}

JitSymbols::~JitSymbols() {
  if (!entry_) return;
  const std::lock_guard lock(gdb_mutex());
  jit_code_entry& link = entry_->link;
  if (link.prev_entry != nullptr) link.prev_entry->next_entry = link.next_entry;
  if (link.next_entry != nullptr) link.next_entry->prev_entry = link.prev_entry;
  if (__jit_debug_descriptor.first_entry == &link)
    __jit_debug_descriptor.first_entry = link.next_entry;
  tell_gdb(2, &link);
}

}  // namespace fuseplan
