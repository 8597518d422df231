// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

namespace fuseplan::driver {

/// Something to be timed.
using Work = std::function<void()>;

/// Seconds of so many executions in a row.
using Stopwatch = std::function<double(const Work&, int repeats)>;

struct RoundLimits {
  double seconds = 1;        ///< for all works together
  double batch = 3e-3;       ///< seconds a work runs at a stretch
  int rounds = 5;            ///< at least
  Stopwatch stopwatch = {};  ///< empty: this process's clock
};

/// Median seconds of one execution of each work. The works take turns in short batches, each after
/// an untimed execution if they are short, so that all of them see the same clock rates and the
/// same neighbours. Each round starts with another work, as the first finds the caches as `between`
/// has left them, and what stays there takes more than one execution to change. `between`, if set,
/// runs once a round: a roof to hold the times against.
std::vector<double> interleaved_medians(const std::vector<Work>& works, const RoundLimits& limits,
                                        const Work& between = {});

double median(std::vector<double> values);

/// Keeps the calling thread on the CPU it is on. Undone at the end.
class Pinned {
 public:
  explicit Pinned(bool pin);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  std::vector<unsigned char> before_;  // empty: not pinned
};

}  // namespace fuseplan::driver
