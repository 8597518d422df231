// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "driver/bench/row.hpp"

namespace fuseplan::driver {

/// A row a problem, then a line a peer: geometric mean, worst row, the network's total.
std::string bench_table(const BenchRun& run);

/// Everything, the times of all ways included.
nlohmann::ordered_json bench_json(const std::vector<BenchRun>& runs);

/// A chart for browsers and READMEs: a panel a run, a bar a row, its length the ratio of peer time
/// to fuseplan time, a line at 1. Needs nothing but itself; readable on light and dark.
std::string bench_svg(const std::vector<BenchRun>& runs);

}  // namespace fuseplan::driver
