// SPDX-License-Identifier: MIT
// Whoever runs mutants is told how each one's process ended.
#include <gtest/gtest-spi.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <stdexcept>
#include <vector>

#include "emulated.hpp"
#include "mutants.hpp"

namespace fuseplan::test {
namespace {

std::string problem_of(const std::function<void()>& role, const ChildLimits& limits = {}) {
  const ChildResult result = run_in_child(
      [&] {
        role();
        return std::string();
      },
      limits);
  EXPECT_EQ(result.said, "");
  return result.problem;
}
void expect_words(const std::string& text, const char* words) {
  EXPECT_NE(text.find(words), std::string::npos) << '"' << text << "\" lacks \"" << words << '"';
}
[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

TEST(MutantsRunner, GivesWhatTheRoleSaid) {
  const std::string kLong(1 << 20, 'x');  // more than a pipe holds
  for (const std::string& text : {std::string(), std::string("a word"), kLong}) {
    const ChildResult result = run_in_child([&] { return text; });
    EXPECT_EQ(result.problem, "");
    EXPECT_EQ(result.said, text);
  }
}

TEST(MutantsRunner, ExitStatus) {
  for (int status : {0, 3})
    EXPECT_EQ(problem_of([&] { ::_exit(status); }),
              "ended with exit status " + std::to_string(status) + " before its time");
}

TEST(MutantsRunner, Signals) {
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGTERM, SIGBUS}) {
    const std::string said = problem_of([&] {
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    });
    expect_words(said, ("was killed by signal " + std::to_string(signal)).c_str());
    expect_words(said, strsignal(signal));
  }
}

TEST(MutantsRunner, Timeout) {
  const ChildLimits kShort = {.time = std::chrono::milliseconds(100)};
  const char* const kWords = "did not end within 100 ms and was killed";
  EXPECT_EQ(problem_of(wait_for_ever, kShort), kWords);
  EXPECT_EQ(problem_of(
                [] {
                  ::close_range(3, ~0u, 0);  // has nothing left to say it with
                  wait_for_ever();
                },
                kShort),
            kWords);
}

// A process of its group goes with it: one that it leaves would keep whoever waits for its output.
TEST(MutantsRunner, TimeoutTakesItsChildrenAlong) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  problem_of(
      [&] {
        if (::fork() == 0) wait_for_ever();
        wait_for_ever();
      },
      {.time = std::chrono::milliseconds(100)});
  ::close(ends[1]);
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);  // the end of file comes once all are gone
  ::close(ends[0]);
}

TEST(MutantsRunner, KilledForMemory) {
  // By the system: it sends what cannot be caught.
  const std::string said = problem_of([] { std::raise(SIGKILL); });
  expect_words(said, "was killed by signal 9");
  expect_words(said, "as the system does when memory runs out; it had ");
  // By the limit.
  const ChildLimits kTight = {.memory = std::size_t{1} << 30};
  EXPECT_EQ(problem_of([] { std::vector<char>(std::size_t{2} << 30); }, kTight),
            "ran out of memory, of which it may have 1024 MiB");
}

TEST(MutantsRunner, Exceptions) {
  EXPECT_EQ(problem_of([] { throw std::runtime_error("a reason"); }), "threw: a reason");
  EXPECT_EQ(problem_of([] { throw 1; }), "threw: something that is no std::exception");
}

// Whole mutants: their kernels end their process, or never end.
const char* const kProblem = "f32:1x8x4x4:nchw;activation(abs)";
const char* const kPlace =
    "if (start + i * step < a.count) fp_finish_item<V>(a, items[i], round + i == 0, channels);";

Mutant mutant(const char* name, const std::string& code, const char* word = nullptr) {
  static std::deque<std::string> texts;
  return {name, kPlace, texts.emplace_back("{" + code + kPlace + "}").c_str(), kProblem, word};
}

TEST(MutantsRunner, MutantsThatEndTheirProcess) {
  EXPECT_NONFATAL_FAILURE(expect_noticed(mutant("Crashes", "*(volatile int*)8 = 1;")),
                          "was killed by signal 11");
  EXPECT_NONFATAL_FAILURE(expect_noticed(mutant("Traps", "__builtin_trap();")),
                          "was killed by signal 4");
  const ChildLimits kShort = {.time = std::chrono::seconds(4)};
  EXPECT_NONFATAL_FAILURE(expect_noticed(mutant("Loops", "while (fp_block() == 0);"), kShort),
                          "did not end within 4000 ms");
}

TEST(MutantsRunner, MutantsThatAreNotNoticedAsTheyShould) {
  EXPECT_NONFATAL_FAILURE(expect_noticed(mutant("DoesNotCompile", "no_such_name;")),
                          "no_such_name");
  EXPECT_NONFATAL_FAILURE(expect_noticed(mutant("Survives", "")), "survived");
  const char* const kApart = "if (fp_thread() != 3) fp_barrier();";
  EXPECT_NONFATAL_FAILURE(expect_noticed(mutant("Deadlock", kApart)), "expected a wrong result");
  EXPECT_NONFATAL_FAILURE(expect_noticed(mutant("Deadlock", kApart, "no such words")),
                          "no such words");
  expect_noticed(mutant("Deadlock", kApart, "deadlock"));
}

}  // namespace
}  // namespace fuseplan::test
