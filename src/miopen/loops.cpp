// SPDX-License-Identifier: MIT
#include "miopen/loops.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/denormals.hpp"
#include "base/parallel.hpp"

namespace fuseplan::miopen {

void run_loop(Handle& handle, std::int64_t count, std::int64_t work,
              void (*task)(void*, std::int64_t), void* context) {
  constexpr std::int64_t kWorthThreads = 1 << 16;
  require(handle.on_cpu, miopenStatusNotImplemented, "this operation runs on CPU handles only");
  int threads = 1;
  if (work >= kWorthThreads) check(fuseplanGetThreadCount(handle.handle.get(), &threads));
  const auto start = std::chrono::steady_clock::now();
  const FlushDenormals flush;
  const auto parts = static_cast<int>(std::min(count, std::int64_t{threads} * 4));
  const Parallel parallel(threads);
  parallel(parts, [&](int part) {
    const Range range = split(count, parts, part);
    for (std::int64_t i = range.first; i < range.last; ++i) task(context, i);
  });
  const std::chrono::duration<float, std::milli> taken = std::chrono::steady_clock::now() - start;
  handle.loop_ms = taken.count();
}

std::size_t offset_of(std::size_t index, const std::vector<std::size_t>& lens,
                      const std::vector<std::size_t>& strides) {
  std::size_t offset = 0;
  for (std::size_t axis = lens.size(); axis-- > 0;) {
    offset += index % lens[axis] * strides[axis];
    index /= lens[axis];
  }
  return offset;
}

}  // namespace fuseplan::miopen
