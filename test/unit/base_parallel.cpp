// SPDX-License-Identifier: MIT
#include "base/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/fork.hpp"
#include "base/sanitizers.hpp"
#include "base/status.hpp"

namespace fuseplan {
namespace {

constexpr int kTasks = 257;

// Plain ints on purpose: a task run by two threads, or a join that does not join, is a data race
// that the thread sanitizer build reports.
int tasks_run_once(const Parallel& parallel, int tasks = kTasks) {
  std::vector<int> runs(static_cast<std::size_t>(tasks), 0);
  parallel(tasks, [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
  int once = 0;
  for (const int n : runs) once += n == 1;
  return once;
}

void reversed_loop(void* context, int count, Parallel::Task task, void* argument) {
  ++*static_cast<int*>(context);
  for (int i = count - 1; i >= 0; --i) task(argument, i);
}

// A C function as far as exceptions go: one that arrives here ends the process.
void threaded_loop(void*, int count, Parallel::Task task, void* argument) noexcept {
  std::thread odd([=] {
    for (int i = 1; i < count; i += 2) task(argument, i);
  });
  for (int i = 0; i < count; i += 2) task(argument, i);
  odd.join();
}

void forgetful_loop(void*, int count, Parallel::Task task, void* argument) {
  for (int i = 0; i < count - 1; ++i) task(argument, i);
}

TEST(Parallel, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    for (int repeat = 0; repeat < 20; ++repeat)
      EXPECT_EQ(tasks_run_once(Parallel(threads)), kTasks) << threads << " threads";
  }
}

TEST(Parallel, RunsAnyNumberOfTasks) {
  for (const int tasks : {1, 2, 63, 64, 65, 1023, 1024, 1025, 5000})
    for (const int threads : {1, 2, 3, 8})
      EXPECT_EQ(tasks_run_once(Parallel(threads), tasks), tasks) << threads << " threads";
}

#ifndef FUSEPLAN_THREAD_SANITIZER  // where every loop has threads of its own
TEST(Parallel, AThreadKeepsItsTask) {
  // Nobody ends before all have begun, so that nobody can take another's.
  constexpr int kThreads = 4;
  std::vector<std::thread::id> before;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::thread::id> threads(kThreads);
    std::atomic<int> begun{0};
    Parallel parallel(kThreads);
    parallel(kThreads, [&](int i) {
      threads[static_cast<std::size_t>(i)] = std::this_thread::get_id();
      ++begun;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (begun < kThreads && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    });
    EXPECT_EQ(threads.front(), std::this_thread::get_id());
    if (before.empty()) before = threads;
    ASSERT_EQ(threads, before);
  }
}
#endif

TEST(Parallel, NoTaskIsNoWork) {
  Parallel(4)(0, [](int) { FAIL(); });
}

TEST(Parallel, UsesTheCallersLoop) {
  int calls = 0;
  EXPECT_EQ(tasks_run_once(Parallel(4, reversed_loop, &calls)), kTasks);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(tasks_run_once(Parallel(4, threaded_loop)), kTasks);
}

TEST(Parallel, CarriesOneExceptionAcrossAndRunsTheRest) {
  for (const Parallel& parallel : {Parallel(4), Parallel(4, threaded_loop)}) {
    std::atomic<int> ran{0};
    const auto task = [&](int i) {
      ++ran;
      if (i % 2 == 1) throw std::runtime_error("task " + std::to_string(i));
    };
    EXPECT_THROW(parallel(kTasks, task), std::runtime_error);
    EXPECT_EQ(ran, kTasks);
  }
}

TEST(Parallel, ACallersLoopThatDropsTasksIsAnError) {
  EXPECT_THROW(Parallel(4, forgetful_loop)(kTasks, [](int) {}), Error);
}

TEST(Parallel, WorksInTheChildOfAFork) {
  ASSERT_EQ(tasks_run_once(Parallel(4)), kTasks);  // the parent's OpenMP pool exists
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    _exit(tasks_run_once(Parallel(4)) == kTasks ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

// The thread that holds them in the parent is not there.
TEST(ForkedMutex, IsFreeInAChild) {
  static ForkedMutex mutex;
  std::latch locked(1), done(1);
  std::thread holder([&] {
    const auto lock = mutex.lock();
    locked.count_down();
    done.wait();
  });
  locked.wait();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    const std::mutex* const first = mutex.lock().mutex();
    _exit(mutex.lock().mutex() == first ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
  done.count_down();
  holder.join();
}

// Ends with 0 if every task of some loops ran, which had no threads, in a process with its own
// libgomp: a fork's would not be used.
[[noreturn]] void run_without_threads(int before) {
  const bool ran_before = tasks_run_once(Parallel(before)) == kTasks;
  const rlimit none{1, 1};
  const bool is_limited = setrlimit(RLIMIT_NPROC, &none) == 0 &&
                          (geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
  bool ran = ran_before && is_limited;
  for (const int threads : {2, 8, 3, 8}) ran = ran && tasks_run_once(Parallel(threads)) == kTasks;
  _exit(ran ? 0 : 1);
}

TEST(ParallelDeathTest, RunsEveryTaskWhereThereAreNoThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_without_threads(1), testing::ExitedWithCode(0), "^$");
}

TEST(ParallelDeathTest, RunsEveryTaskWhereThereAreNoMoreThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_without_threads(2), testing::ExitedWithCode(0), "^$");
}

TEST(Parallel, ThreadsThatComeAndGoHaveTheirLoops) {
  std::atomic<int> once{0};
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) callers.emplace_back([&] { once += tasks_run_once(Parallel(3)); });
    for (std::thread& caller : callers) caller.join();
  }
  EXPECT_EQ(once, 20 * kTasks);
}

TEST(Split, CoversTheWholeInOrder) {
  for (const long total : {0L, 1L, 7L, 1000L}) {
    long next = 0;
    for (int part = 0; part < 6; ++part) {
      const Range range = split(total, 6, part);
      EXPECT_EQ(range.first, next);
      EXPECT_LE(range.last - range.first, total / 6 + 1);
      next = range.last;
    }
    EXPECT_EQ(next, total);
  }
}

}  // namespace
}  // namespace fuseplan
