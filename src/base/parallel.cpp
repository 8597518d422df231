// SPDX-License-Identifier: MIT
#include "base/parallel.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "base/denormals.hpp"
#include "base/status.hpp"

namespace fuseplan {
namespace {

// An exception may leave neither an OpenMP region nor a caller's C function: the first one waits
// here until the loop is done.
class Crossing {
 public:
  Crossing(Parallel::Task task, void* argument) : task_(task), argument_(argument) {}

  /// A Parallel::Task that throws nothing.
  static void call(void* crossing, int index) noexcept {
    static_cast<Crossing*>(crossing)->run(index);
  }

  /// To be called once the loop has returned.
  void finish(int count) {
    if (error_) std::rethrow_exception(error_);
    const int done = done_.load(std::memory_order_acquire);
    require(done == count, Status::InternalError,
            "the parallel-for callback ran {} tasks where it was given {}", done, count);
  }

 private:
  void run(int index) noexcept {
    const FlushDenormals flush;
    try {
      task_(argument_, index);
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
    done_.fetch_add(1, std::memory_order_release);
  }

  Parallel::Task task_;
  void* argument_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
  std::atomic<int> done_{0};
};

/// Which tasks of a loop have been begun.
class Begun {
 public:
  static constexpr int kMost = 1024;
  /// Whether the caller is the first to ask.
  bool begin(int task) {
    const std::uint64_t bit = std::uint64_t{1} << task % 64;
    auto& word = words_[static_cast<std::size_t>(task / 64)];
    return (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kMost / 64> words_{};
};

// A thread begins with the task of its own number, whose data the last call may have left in its
// core's caches, and goes on with what nobody has begun: others may be late or missing.
void loop_openmp(int threads, int count, Parallel::Task task, void* argument) {
  Begun begun;
  const int shared = std::min(count, Begun::kMost);
#pragma omp parallel num_threads(threads)
  {
    const int own = omp_get_thread_num();
    for (int i = 0; i < shared; ++i)
      if (begun.begin((own + i) % shared)) task(argument, (own + i) % shared);
#pragma omp for schedule(dynamic, 1)
    for (int i = shared; i < count; ++i) task(argument, i);
  }
}

// Slower, since it starts its threads anew, but right where OpenMP's pool of them is not.
void loop_threads(int threads, int count, Parallel::Task task, void* argument) {
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) task(argument, i);
  };
  std::vector<std::thread> others;
  try {
    for (int t = 1; t < threads; ++t) others.emplace_back(work);
  } catch (const std::exception&) {
    // No more threads (or memory) to be had: those that run share the work.
  }
  work();
  for (std::thread& other : others) other.join();
}

// The child of a fork inherits libgomp's record of its pool without the threads in it, and would
// wait for them for ever. Registered when the library is loaded: the pool may be the program's.
std::atomic<bool> forked{false};
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });

// Race detectors cannot see through libgomp's own fork and join.
#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

}  // namespace

Parallel::Parallel(int threads, Loop loop, void* context)
    : threads_(threads > 0 ? threads : std::max(1, omp_get_max_threads())),
      loop_(loop),
      context_(context) {}

void Parallel::run(int count, Task task, void* argument) const {
  Crossing crossing(task, argument);
  if (loop_ != nullptr) {
    loop_(context_, count, Crossing::call, &crossing);
  } else {
    const bool avoid_openmp = forked.load(std::memory_order_relaxed) || kThreadSanitizer;
    const auto loop = avoid_openmp ? loop_threads : loop_openmp;
    loop(std::min(threads_, count), count, Crossing::call, &crossing);
  }
  crossing.finish(count);
}

}  // namespace fuseplan
