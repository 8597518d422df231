// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>

#include "backend/elf_object.hpp"
#include "base/status.hpp"
#include "support/random.hpp"

namespace fuseplan {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<cpu::Function> two_functions() {
  return {{"first", bytes_of({0x90, 0xc3})}, {"second", bytes_of({0x31, 0xc0, 0xc3})}};
}

TEST(ElfObject, ReadsBackWhatWasWritten) {
  const auto object = write_elf(two_functions());
  const ElfCode elf = read_elf(object);
  ASSERT_EQ(elf.symbols.size(), 2u);
  EXPECT_EQ(elf.symbols[0].name, "first");
  EXPECT_EQ(elf.symbols[1].name, "second");
  EXPECT_EQ(elf.symbols[0].offset, 0u);
  EXPECT_EQ(elf.symbols[1].offset, 64u) << "functions start on cache lines";
  EXPECT_EQ(elf.text[64], std::byte{0x31});
  EXPECT_EQ(elf.symbols[1].size, 3u);
}

TEST(ElfObject, MayHoldNothing) { EXPECT_TRUE(read_elf(write_elf({})).symbols.empty()); }

TEST(ElfObject, DoesNotDependOnWhereItWasMade) {
  EXPECT_EQ(write_elf(two_functions()), write_elf(two_functions()));
}

TEST(ElfObject, RefusesAnythingElse) {
  const auto object = write_elf(two_functions());
  for (std::size_t size = 0; size < object.size(); ++size)
    EXPECT_THROW(read_elf(std::span(object).first(size)), Error) << size << " bytes";
}

// Whatever the bytes are, reading them stays inside them; the sanitizers watch.
TEST(ElfObject, SurvivesDamage) {
  const auto object = write_elf(two_functions());
  test::Random random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    auto damaged = object;
    for (std::int64_t flips = random.between(1, 4); flips > 0; --flips) {
      const auto at = static_cast<std::size_t>(
          random.between(0, static_cast<std::int64_t>(damaged.size()) - 1));
      damaged[at] ^= static_cast<std::byte>(random.between(1, 255));
    }
    try {
      for (const ElfCode::Symbol& symbol : read_elf(damaged).symbols)
        EXPECT_LE(symbol.offset + symbol.size, damaged.size());
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ElfObject, TakesALoadAddress) {
  auto object = write_elf(two_functions());
  set_text_address(object, 0x123456789abcdef0);
  EXPECT_NE(object, write_elf(two_functions()));
  EXPECT_EQ(read_elf(object).symbols.size(), 2u);
}

}  // namespace
}  // namespace fuseplan
