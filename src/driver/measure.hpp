// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "driver/problem.hpp"

namespace fuseplan::driver {

struct MeasureOptions {
  std::string device = "cpu";
  std::string library_options;  ///< for fuseplanSetOptions
  int threads = 0;              ///< 0: as the library chooses
  bool verify = true;
  bool unfused = true;
  bool constant_weights = true;
  double seconds = 0.3;  ///< time spent timing one problem
  int iterations = 0;    ///< exact number of timed executions instead
};

/// Everything the driver reports of one problem.
struct Measurement {
  std::string name, problem, device, solver, config;
  int kernels = 0;
  double compile_us = 0;
  bool cache_hit = false;
  double fused_us = 0;
  std::optional<double> unfused_us;
  double gflops = 0, gbps = 0;
  double peak_gflops = 0, copy_gbps = 0;  ///< the roofs, measured beside; a GPU's peak is nominal
  double roof_fraction = 0;               ///< time at the roof over measured time
  std::optional<double> max_rel_error;
  std::optional<bool> verified, unfused_verified;
  std::string mismatch;  ///< what verification found; empty if nothing
  double published_speedup = 0;
  std::int64_t count = 1;

  std::optional<double> speedup() const;
};

/// Compiles, verifies and times one problem on `handle`. Fused and unfused executions alternate in
/// short batches; the medians are reported. On a GPU its own clock is asked, and inputs and outputs
/// are other ones each time, so that none is in its cache.
Measurement measure(fuseplanHandle_t handle, const ProblemSpec& problem,
                    const MeasureOptions& options);

/// A handle with the options' device, library options and thread count.
Handle make_handle(const MeasureOptions& options);

}  // namespace fuseplan::driver
