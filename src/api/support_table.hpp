// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "solve/solver.hpp"

namespace fuseplan::api {

struct SupportRow {
  const Solver* solver;
  DType dtype;
  int rank;
  Layout layout;
  std::string operations;  ///< words, such as "conv stride padding bias"
};

/// Which solvers take which type and layout on a device, and what they do there: found by asking
/// each about small plans that show one feature.
std::vector<SupportRow> support_table(const Traits& traits);

}  // namespace fuseplan::api
