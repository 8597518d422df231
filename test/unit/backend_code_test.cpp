// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "backend/backend.hpp"
#include "backend/code_memory.hpp"
#include "backend/elf_object.hpp"
#include "backend/jit_symbols.hpp"
#include "base/status.hpp"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

namespace fuseplan {
namespace {

// nop, so often; mov eax, 42; ret
std::vector<cpu::Function> answer(int number = 42, std::size_t nops = 0) {
  std::vector<std::byte> code(nops, std::byte{0x90});
  for (int value : {0xb8, number, 0, 0, 0, 0xc3}) code.push_back(static_cast<std::byte>(value));
  return {{"answer", code}};
}

int call(const CodeMemory& memory) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<std::uintptr_t>(memory.data()))();
}

std::string rights_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0, last = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, rights) == 3 && wanted >= first &&
        wanted < last)
      return rights;
  }
  return "";
}

TEST(CodeMemory, RunsAndIsNeverWritable) {
  const auto object = write_elf(answer());
  const CodeMemory memory(read_elf(object).text);
  EXPECT_EQ(call(memory), 42);
  EXPECT_EQ(rights_of(memory.data()), "r-xp");
}

TEST(CodeMemory, LiesBetweenPagesThatNobodyMayTouch) {
  const CodeMemory small(answer()[0].code), large(answer(7, 100000)[0].code);
  EXPECT_EQ(rights_of(small.data() - 1), "---p");
  EXPECT_EQ(rights_of(small.data() + 65535), "r-xp");
  EXPECT_EQ(rights_of(small.data() + 65536), "---p");
  EXPECT_EQ(rights_of(large.data() - 1), "---p");
  EXPECT_EQ(rights_of(large.data() + 25 * 4096), "---p");
}

// The memory of code that is gone is used again, by one at a time, and is no more writable then.
TEST(CodeMemory, IsUsedAgain) {
  const void* place = nullptr;
  {
    const CodeMemory first(answer(1)[0].code);
    place = first.data();
    EXPECT_EQ(call(first), 1);
  }
  const CodeMemory second(answer(2, 5000)[0].code), third(answer(3)[0].code);
  EXPECT_EQ(second.data(), place);
  EXPECT_NE(third.data(), place);
  EXPECT_EQ(rights_of(second.data()), "r-xp");
  EXPECT_EQ(rights_of(second.data() + 5000), "r-xp");
  EXPECT_EQ(call(second), 2);
  EXPECT_EQ(call(third), 3);
}

TEST(CodeMemory, TakesCodeOfAnySize) {
  for (const std::size_t nops : {std::size_t{1}, std::size_t{65530}, std::size_t{65531},
                                 std::size_t{65536}, std::size_t{1} << 20}) {
    const CodeMemory memory(answer(7, nops)[0].code);
    EXPECT_EQ(call(memory), 7) << nops;
    EXPECT_EQ(rights_of(memory.data() + nops), "r-xp") << nops;
  }
}

// A process that denies itself RW to RX still gets code, through a memory file.
TEST(CodeMemory, WorksWhereMprotectIsDenied) {
  constexpr int kCannotDeny = 77;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0) _exit(kCannotDeny);
    try {
      const auto object = write_elf(answer());
      const CodeMemory memory(read_elf(object).text);
      _exit(call(memory) == 42 && rights_of(memory.data()) == "r-xs" ? 0 : 1);
    } catch (const Error&) {
      _exit(2);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  // Linux before 6.3 cannot deny it, so there is nothing to work around.
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kCannotDeny);
}

TEST(JitSymbols, AreWrittenForPerf) {
  const auto object = write_elf(answer());
  const ElfCode elf = read_elf(object);
  const CodeMemory memory(elf.text);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  { const JitSymbols symbols({.perf = true, .gdb = true}, object, elf, memory.data()); }
  std::string address, size, name;
  std::ifstream(path) >> address >> size >> name;
  unlink(path.c_str());
  EXPECT_EQ(std::stoul(address, nullptr, 16), reinterpret_cast<std::uintptr_t>(memory.data()));
  EXPECT_EQ(size, "6");
  EXPECT_EQ(name, "fuseplan_answer");
}

TEST(Devices, AreNamedByText) {
  EXPECT_EQ(find_device("cpu").backend->name(), "cpu");
  EXPECT_EQ(find_device("").backend->name(), "cpu");
  EXPECT_EQ(find_device("cpu:0").index, 0);
  // No machine has that many GPUs.
  for (const char* text :
       {"cpu:1", "cpu:", "cpu:x", "cpu:-1", "gpu", "cuda:999", "cuda:x", "hip:999", ":0"})
    EXPECT_THROW(find_device(text), Error) << text;
}

}  // namespace
}  // namespace fuseplan
