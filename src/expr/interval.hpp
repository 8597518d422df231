// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <vector>

#include "expr/expr.hpp"

namespace fuseplan {

/// The values that a node may have in f32, but for NaN. Rounded results may lie outside by as much
/// as they are rounded; those that may overflow are unbounded.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool inside(double least, double most) const { return least <= low && high <= most; }
};

/// By node. Of what is not known every value counts as possible: leaves other than constants, and
/// functions that bounded arguments are not common for.
std::vector<Interval> intervals_of(const Graph& graph);

}  // namespace fuseplan
