// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fuseplan::driver {

/// What it took a peer to get ready, in microseconds.
struct PlanTimes {
  double build_us = 0;            ///< from the ops to the plan that its own choice puts first
  double first_call_us = 0;       ///< of that plan, waited for
  std::optional<double> load_us;  ///< the same plan from what the peer had stored of it
  bool first_in_process = false;  ///< loading the peer's libraries is part of build_us
};

/// One way of a peer and what it took.
struct BenchWay {
  std::string name, role, implementation;
  double us = 0;
  std::optional<PlanTimes> plan = {};
};

/// A way that a peer does not have for a problem.
struct BenchRefusal {
  std::string way, reason;
};

/// A peer on one problem.
struct BenchPeer {
  std::string refusal;  ///< why it cannot run the problem; nothing else is set then
  std::string way;      ///< the fastest contender
  double us = 0;        ///< its time
  std::optional<double> folded_us, free_layout_us, beyond_us;
  bool agrees = false;  ///< with fuseplan's result, every way
  double max_relative_difference = 0;
  std::vector<BenchWay> ways;
  std::vector<BenchRefusal> refused;

  bool ran() const { return refusal.empty(); }
};

/// fuseplan on one problem, the roofs beside it, and every peer.
struct BenchRow {
  std::string name, problem, solver, config;
  std::int64_t count = 1;  ///< how often the layer stands in its network
  double published_speedup = 0;
  double us = 0, flops = 0, bytes = 0;
  double peak_gflops = 0, copy_gbps = 0;     ///< of a GPU the nominal peak
  double compile_us = 0, first_call_us = 0;  ///< on GPUs
  bool cache_hit = false;                    ///< what compiling found there
  std::string failure;                       ///< why there are no times; such a row is not right
  bool verified = false;
  double max_relative_error = 0;
  std::string mismatch;
  std::vector<BenchPeer> peers;  ///< in the order of BenchRun::peers

  double gflops() const { return flops / us * 1e-3; }
  double gbps() const { return bytes / us * 1e-3; }
  /// Time at the roof over `time_us`.
  double roof_share(double time_us) const;
  /// Peer time over fuseplan time; nothing where the peer refused.
  std::optional<double> ratio(std::size_t peer) const;
  bool right() const;
};

/// A list in one form: how long its problems take to execute, or to create without any cache.
struct BenchRun {
  bool creation = false;
  std::string list, layout, dtype, chain;
  std::int64_t batch = 0;
  int threads = 1;
  bool raw_weights = false;
  std::string device;
  std::vector<std::string> peers;  ///< titles
  std::vector<BenchRow> rows;

  /// "resnet50.csv, nhwc, f32, batch 1, ..."
  std::string title() const;
};

}  // namespace fuseplan::driver
