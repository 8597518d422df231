// SPDX-License-Identifier: MIT
#include "base/parallel.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "base/denormals.hpp"
#include "base/fork.hpp"
#include "base/log.hpp"
#include "base/sanitizers.hpp"
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

/// How many threads the system gives at once, of `most`.
int threads_to_be_had(int most) {
  std::latch counted(1);
  std::vector<std::thread> threads;
  try {
    for (int t = 0; t < most; ++t) threads.emplace_back([&] { counted.wait(); });
  } catch (const std::exception&) {
    // The answer is how many there are.
  }
  counted.count_down();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

/// The pool that libgomp keeps for the calling thread. Where the system refuses a thread libgomp
/// ends the process, so the system is asked before, whenever the process is to have more of these
/// threads than it was known to get.
class Team {
 public:
  Team() = default;
  ~Team() {
    if (fork_generation() > 0) return;  // whoever held the mutex is not there
    const std::lock_guard lock(mutex_);
    total_ -= size_ - 1;
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  bool has(int threads) { return threads <= size_ || grow(threads); }

 private:
  bool grow(int threads) {
    const std::lock_guard lock(mutex_);
    const int more = threads - size_;
    if (total_ + more > proven_ && !prove(more)) return false;
    // Made here, where none of our threads can take what was just seen to be there.
    std::atomic<int> present{0};
#pragma omp parallel num_threads(threads)
    present.fetch_add(1, std::memory_order_relaxed);
    total_ += more;
    size_ = threads;
    return true;
  }

  // Twice as many, since threads that have ended may count a little longer than it takes to join
  // them. A refusal is asked about again only now and then.
  static bool prove(int more) {
    constexpr unsigned kPeriod = 64;
    if (refusals_++ % kPeriod != 0) return false;
    const int got = threads_to_be_had(2 * more);
    if (got < 2 * more) {
      log(LogLevel::warning, "parallel", "threads={},wanted={},instead=threads of each loop's own",
          got, 2 * more);
      return false;
    }
    refusals_ = 0;
    proven_ = total_ + more;
    return true;
  }

  int size_ = 1;
  inline static std::mutex mutex_;
  inline static int total_ = 0, proven_ = 0;  // threads besides the callers
  inline static unsigned refusals_ = 0;
};

// Inside another region libgomp has no pool: it starts threads anew, or runs the loop with one.
bool openmp_has(int threads) {
  if (omp_in_parallel() != 0) return omp_get_active_level() >= omp_get_max_active_levels();
  thread_local Team team;
  return team.has(std::min(threads, omp_get_thread_limit()));
}

// Race detectors cannot see through libgomp's own fork and join.
#ifdef FUSEPLAN_THREAD_SANITIZER
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
    // The child of a fork inherits libgomp's record of its pool, which may be the program's,
    // without the threads in it, and would wait for them for ever.
    const bool avoid_openmp = fork_generation() > 0 || kThreadSanitizer;
    const int threads = std::min(threads_, count);
    const auto loop = avoid_openmp || !openmp_has(threads) ? loop_threads : loop_openmp;
    loop(threads, count, Crossing::call, &crossing);
  }
  crossing.finish(count);
}

}  // namespace fuseplan
