// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace fuseplan::test {

/// task(i) for each i in [0, count), on all processors. Plain threads, because race detectors
/// understand them. Tasks must not throw.
template <typename F>
void parallel_for(std::int64_t count, const F& task) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i; (i = next.fetch_add(1)) < count;) task(i);
  };
  const std::int64_t processors = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (std::int64_t t = 1; t < std::min(processors, count); ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace fuseplan::test
