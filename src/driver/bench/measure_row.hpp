// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "driver/bench/row.hpp"
#include "driver/peer/peer.hpp"

namespace fuseplan::driver {

using Peers = std::vector<std::unique_ptr<Peer>>;

struct RowSettings {
  int threads = 1;
  bool raw_weights = false;
  double seconds = 1;  ///< spent timing one row
};

/// Checks fuseplan against the oracle and the peers against fuseplan, and times them in turns. All
/// ways of a peer are tried; those that could be the fastest are timed for good.
BenchRow measure_row(fuseplanHandle_t handle, const ProblemSpec& problem, const Peers& peers,
                     const RowSettings& settings);

}  // namespace fuseplan::driver
