// SPDX-License-Identifier: MIT
#include "run/build_id.hpp"

#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/digest.hpp"
#include "base/log.hpp"

namespace fuseplan {
namespace {

struct Search {
  std::uintptr_t address;
  std::string id;
};

bool contains(const dl_phdr_info& file, std::uintptr_t address) {
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const auto& segment = file.dlpi_phdr[i];
    const std::uintptr_t start = file.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= start && address < start + segment.p_memsz)
      return true;
  }
  return false;
}

// Notes are {name size, description size, type} and the two texts, each padded to 4 bytes.
std::string build_id_of_notes(const std::uint8_t* notes, std::size_t bytes) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > bytes) return {};
    const std::uint8_t* name = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return to_hex({name + padded(note.n_namesz), note.n_descsz});
    notes += whole;
    bytes -= whole;
  }
  return {};
}

int look_into(dl_phdr_info* file, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  if (!contains(*file, search.address)) return 0;
  for (int i = 0; i < file->dlpi_phnum && search.id.empty(); ++i) {
    const auto& segment = file->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      search.id = build_id_of_notes(
          reinterpret_cast<const std::uint8_t*>(file->dlpi_addr + segment.p_vaddr),
          segment.p_memsz);
  }
  return 1;
}

struct Identity {
  std::string text;
  bool is_shared;
};

Identity find_identity() {
  std::string id = build_id_at(reinterpret_cast<const void*>(&look_into));
  if (!id.empty()) return {std::move(id), true};
  log(LogLevel::warning, "cache",
      "kernels are kept in memory only: the library has no build-id (linked without --build-id, or "
      "stripped), so those on disk could not be told from another version's");
  return {fmt::format("of process {} at {}", ::getpid(),
                      std::chrono::system_clock::now().time_since_epoch().count()),
          false};
}

const Identity& identity() {
  static const Identity& instance = *new Identity(find_identity());
  return instance;
}

}  // namespace

const std::string& build_id() { return identity().text; }
bool is_build_id_shared() { return identity().is_shared; }

std::string build_id_at(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(look_into, &search);
  return search.id;
}

}  // namespace fuseplan
