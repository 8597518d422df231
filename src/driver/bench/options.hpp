// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver/bench/row.hpp"

namespace fuseplan::driver {

/// What `fuseplan-driver bench` was asked for. Lists, layouts, types and batches multiply.
struct BenchOptions {
  std::vector<std::string> peers{"onednn"};
  std::vector<std::string> lists, layouts{"nhwc"}, types{"f32"}, rows;
  std::vector<std::int64_t> batches{0};  ///< 0: the list's own
  std::string training;                  ///< "forward" or "backward": of batchnorm and RELU
  std::string chain, activation;         ///< empty: what the list's kind usually has; "relu"
  std::string library_options, device = "cpu";
  int threads = 1;
  double seconds = 1;  ///< spent timing a row
  bool raw_weights = false;
  bool creation = false;  ///< time creating plans, without any cache, instead of executing them
  std::string json, svg;  ///< files; empty: none
};

/// Measures everything, printing each run's table as soon as it is there. `keep` sees all that has
/// been measured so far after each row.
std::vector<BenchRun> run_bench(const BenchOptions& options,
                                const std::function<void(const std::vector<BenchRun>&)>& keep);

}  // namespace fuseplan::driver
