// SPDX-License-Identifier: MIT
#include "backend/elf_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/status.hpp"

namespace fuseplan {
namespace {

constexpr std::size_t kCodeAlignment = 64;
enum Section : std::uint16_t { kNull, kText, kSymtab, kStrtab, kShstrtab, kSections };
constexpr char kSectionNames[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
constexpr Elf64_Word kNameOffsets[kSections] = {0, 1, 7, 15, 23};

void align_to(std::vector<std::byte>& bytes, std::size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

std::size_t append(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
  const std::size_t offset = bytes.size();
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
  return offset;
}

Elf64_Shdr section(Section index, Elf64_Word type, std::size_t offset, std::size_t size,
                   std::size_t alignment) {
  Elf64_Shdr header{};
  header.sh_name = kNameOffsets[index];
  header.sh_type = type;
  header.sh_offset = offset;
  header.sh_size = size;
  header.sh_addralign = alignment;
  return header;
}

Elf64_Ehdr file_header(std::size_t section_table) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = section_table;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kShstrtab;
  return header;
}

struct Layout {
  std::vector<std::byte> text;
  std::vector<Elf64_Sym> symbols = std::vector<Elf64_Sym>(1);
  std::string names = std::string(1, '\0');
};

Layout lay_out(std::span<const cpu::Function> functions) {
  Layout layout;
  for (const cpu::Function& function : functions) {
    align_to(layout.text, kCodeAlignment);
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(layout.names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = kText;
    symbol.st_value = layout.text.size();
    symbol.st_size = function.code.size();
    layout.symbols.push_back(symbol);
    layout.names += function.name + '\0';
    append(layout.text, function.code.data(), function.code.size());
  }
  return layout;
}

// Bounds-checked view of a piece of the object.
template <typename T>
std::span<const T> table(std::span<const std::byte> object, std::size_t offset, std::size_t bytes) {
  require(offset <= object.size() && bytes <= object.size() - offset && bytes % sizeof(T) == 0 &&
              offset % alignof(T) == 0,
          Status::InternalError, "stored kernel: table at {} of {} bytes lies outside the object",
          offset, bytes);
  return {reinterpret_cast<const T*>(object.data() + offset), bytes / sizeof(T)};
}

}  // namespace

std::vector<std::byte> write_elf(std::span<const cpu::Function> functions) {
  const Layout layout = lay_out(functions);
  std::vector<std::byte> object(sizeof(Elf64_Ehdr));
  Elf64_Shdr sections[kSections]{};
  align_to(object, kCodeAlignment);
  sections[kText] =
      section(kText, SHT_PROGBITS, append(object, layout.text.data(), layout.text.size()),
              layout.text.size(), kCodeAlignment);
  sections[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  align_to(object, alignof(Elf64_Sym));
  const std::size_t symbol_bytes = layout.symbols.size() * sizeof(Elf64_Sym);
  sections[kSymtab] =
      section(kSymtab, SHT_SYMTAB, append(object, layout.symbols.data(), symbol_bytes),
              symbol_bytes, alignof(Elf64_Sym));
  sections[kSymtab].sh_link = kStrtab;
  sections[kSymtab].sh_info = 1;  // the first global symbol
  sections[kSymtab].sh_entsize = sizeof(Elf64_Sym);
  sections[kStrtab] =
      section(kStrtab, SHT_STRTAB, append(object, layout.names.data(), layout.names.size()),
              layout.names.size(), 1);
  sections[kShstrtab] =
      section(kShstrtab, SHT_STRTAB, append(object, kSectionNames, sizeof kSectionNames),
              sizeof kSectionNames, 1);
  align_to(object, alignof(Elf64_Shdr));
  const Elf64_Ehdr header = file_header(append(object, sections, sizeof sections));
  std::memcpy(object.data(), &header, sizeof header);
  return object;
}

ElfCode read_elf(std::span<const std::byte> object) {
  const Elf64_Ehdr header = table<Elf64_Ehdr>(object, 0, sizeof(Elf64_Ehdr))[0];
  const Elf64_Ehdr expected = file_header(header.e_shoff);
  require(std::memcmp(&header, &expected, sizeof header) == 0, Status::InternalError,
          "stored kernel: not an ELF object of this library");
  const auto sections = table<Elf64_Shdr>(object, header.e_shoff, kSections * sizeof(Elf64_Shdr));
  const auto piece = [&](Section index) {
    return table<std::byte>(object, sections[index].sh_offset, sections[index].sh_size);
  };
  ElfCode code{piece(kText), {}};
  const auto symbols =
      table<Elf64_Sym>(object, sections[kSymtab].sh_offset, sections[kSymtab].sh_size);
  const auto names = piece(kStrtab);
  for (const Elf64_Sym& symbol : symbols.subspan(std::min<std::size_t>(1, symbols.size()))) {
    require(symbol.st_value <= code.text.size() &&
                symbol.st_size <= code.text.size() - symbol.st_value &&
                symbol.st_name < names.size(),
            Status::InternalError, "stored kernel: a symbol lies outside its section");
    const char* name = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
    code.symbols.push_back({std::string(name, strnlen(name, names.size() - symbol.st_name)),
                            symbol.st_value, symbol.st_size});
  }
  return code;
}

void set_text_address(std::span<std::byte> object, std::uint64_t address) {
  (void)read_elf(object);  // checks that the section table is where it should be
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  const std::size_t field =
      header.e_shoff + kText * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr);
  std::memcpy(object.data() + field, &address, sizeof address);
}

}  // namespace fuseplan
