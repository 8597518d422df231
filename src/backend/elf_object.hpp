// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/program.hpp"

namespace fuseplan {

/// A minimal ELF64 relocatable object (System V ABI, x86-64 supplement): .text with the functions
/// one after another, each aligned to a cache line, and a symbol for each. objdump, gdb and perf
/// read it; nothing in it needs relocating, because the functions are position independent.
std::vector<std::byte> write_elf(std::span<const cpu::Function> functions);

struct ElfCode {
  std::span<const std::byte> text;
  struct Symbol {
    std::string name;
    std::size_t offset, size;
  };
  std::vector<Symbol> symbols;  ///< in the order they were written
};

/// Reads what write_elf wrote; every offset is checked against the size of `object`. Throws
/// Error(InternalError) if it is anything else. `text` points into `object`.
ElfCode read_elf(std::span<const std::byte> object);

/// Fills in where .text was loaded, for debuggers.
void set_text_address(std::span<std::byte> object, std::uint64_t address);

}  // namespace fuseplan
