// SPDX-License-Identifier: MIT
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/environment.hpp"

namespace fuseplan {
namespace {

using namespace std::string_view_literals;

/// Collects messages for its lifetime.
class Collected {
 public:
  Collected() { set_log_sink(collect, this); }
  ~Collected() {
    set_log_sink(nullptr, nullptr);
    set_log_level(LogLevel::warning);
  }
  std::vector<std::string> lines;
  std::vector<LogLevel> levels;

 private:
  static void collect(void* context, LogLevel level, const char* line) {
    static_cast<Collected*>(context)->lines.emplace_back(line);
    static_cast<Collected*>(context)->levels.push_back(level);
  }
};

TEST(Log, DeliversUpToItsLevel) {
  Collected collected;
  set_log_level(LogLevel::info);
  log(LogLevel::error, "cache", "row {} rejected", 3);
  log(LogLevel::info, "plan", "compiled");
  log(LogLevel::trace, "plan", "never seen");
  EXPECT_EQ(collected.lines,
            (std::vector<std::string>{"fuseplan_cache,row 3 rejected", "fuseplan_plan,compiled"}));
  EXPECT_EQ(collected.levels, (std::vector<LogLevel>{LogLevel::error, LogLevel::info}));
}

TEST(Log, QuietIsQuiet) {
  Collected collected;
  set_log_level(LogLevel::quiet);
  log(LogLevel::fatal, "plan", "never seen");
  EXPECT_TRUE(collected.lines.empty());
}

TEST(Log, LinesAreOne) {
  Collected collected;
  log(LogLevel::error, "cache", "{}", "a\nb\r\tc\0d\x7f\x1b e \u00e9"sv);
  EXPECT_EQ(collected.lines, std::vector<std::string>{"fuseplan_cache,a b  c d   e \u00e9"});
}

// The sink is not thread-safe on purpose; the logger promises to call it one thread at a time.
TEST(Log, LinesFromManyThreadsArriveWhole) {
  Collected collected;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) log(LogLevel::error, "t", "message");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(collected.lines, std::vector<std::string>(800, "fuseplan_t,message"));
}

TEST(Log, LevelsAreNumbers) {
  EXPECT_EQ(parse_log_level("0"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("1"), LogLevel::quiet);
  EXPECT_EQ(parse_log_level("7"), LogLevel::trace);
  for (const char* text : {"", "8", "-1", "5x", " 5", "info"})
    EXPECT_EQ(parse_log_level(text), std::nullopt) << text;
}

TEST(Environment, UnsetAndEmptyDiffer) {
  const char* name = "FUSEPLAN_TEST_VARIABLE";
  unsetenv(name);
  EXPECT_EQ(environment(name), std::nullopt);
  setenv(name, "", 1);
  EXPECT_EQ(environment(name), "");
  setenv(name, "value", 1);
  EXPECT_EQ(environment(name), "value");
  unsetenv(name);
}

}  // namespace
}  // namespace fuseplan
