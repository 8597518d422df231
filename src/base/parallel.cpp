// SPDX-License-Identifier: MIT
#include "base/parallel.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

namespace fuseplan {
namespace {

// OpenMP regions may not leak exceptions; the first one is carried across and thrown again.
void run_openmp(int threads, int count, Parallel::Task task, void* argument) {
  std::exception_ptr error;
  // Race detectors do not see libgomp's own fork and join; these make both visible to them.
  std::atomic<int> fork{0}, join{0};
  fork.store(1, std::memory_order_release);
#pragma omp parallel for num_threads(std::min(threads, count)) schedule(dynamic, 1)
  for (int i = 0; i < count; ++i) {
    (void)fork.load(std::memory_order_acquire);
    try {
      task(argument, i);
    } catch (...) {
#pragma omp critical(fuseplan_parallel_error)
      if (!error) error = std::current_exception();
    }
    join.fetch_add(1, std::memory_order_release);
  }
  (void)join.load(std::memory_order_acquire);
  if (error) std::rethrow_exception(error);
}

}  // namespace

Parallel::Parallel(int threads, Loop loop, void* context)
    : threads_(threads > 0 ? threads : std::max(1, omp_get_max_threads())),
      loop_(loop),
      context_(context) {}

void Parallel::run(int count, Task task, void* argument) const {
  if (loop_ != nullptr) {
    loop_(context_, count, task, argument);
  } else {
    run_openmp(threads_, count, task, argument);
  }
}

}  // namespace fuseplan
