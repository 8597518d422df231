// SPDX-License-Identifier: MIT
#include "driver/bench/rounds.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace fuseplan::driver {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double seconds_of(const Work& work, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return since(start);
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> interleaved_medians(const std::vector<Work>& works, const RoundLimits& limits,
                                        const Work& between) {
  constexpr double kLong = 5e-3;   // brings its data into the caches by itself
  constexpr double kLeast = 1e-7;  // a clock that says less has not seen the work
  const Stopwatch time = limits.stopwatch ? limits.stopwatch : seconds_of;
  std::vector<double> once;
  for (const Work& work : works) {
    once.push_back(time(work, 1));
    if (once.back() < kLong) once.back() = std::max(kLeast, time(work, 1));
  }
  std::vector<std::vector<double>> samples(works.size());
  const auto start = Clock::now();
  for (int round = 0; round < limits.rounds || since(start) < limits.seconds; ++round) {
    for (std::size_t turn = 0; turn < works.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % works.size();
      const int repeats = std::clamp(static_cast<int>(limits.batch / once[i]), 1, 1000000);
      if (once[i] < kLong) works[i]();
      samples[i].push_back(time(works[i], repeats) / repeats);
    }
    if (between) between();
  }
  std::vector<double> medians;
  for (const auto& list : samples) medians.push_back(median(list));
  return medians;
}

Pinned::Pinned(bool pin) {
  cpu_set_t before, one;
  if (!pin || sched_getaffinity(0, sizeof before, &before) != 0) return;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return;
  before_.resize(sizeof before);
  std::memcpy(before_.data(), &before, sizeof before);
}

Pinned::~Pinned() {
  if (before_.empty()) return;
  cpu_set_t before;
  std::memcpy(&before, before_.data(), sizeof before);
  (void)sched_setaffinity(0, sizeof before, &before);
}

}  // namespace fuseplan::driver
