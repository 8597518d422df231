// SPDX-License-Identifier: MIT
#pragma once

#include "driver/bench/row.hpp"

namespace fuseplan::driver {

/// A run against one of its peers.
struct BenchSummary {
  std::size_t rows = 0;        ///< that the peer ran
  double mean_ratio = 0;       ///< geometric mean of peer time / fuseplan time
  double worst_ratio = 0;      ///< the smallest
  std::string worst_row;       ///< its name
  double us = 0, peer_us = 0;  ///< whole network: each row times its count
  std::optional<double> folded_us, free_layout_us;
  double roof_share = 0, peer_roof_share = 0;  ///< geometric means

  double network_ratio() const { return peer_us / us; }
};

BenchSummary summarize(const BenchRun& run, std::size_t peer);

}  // namespace fuseplan::driver
