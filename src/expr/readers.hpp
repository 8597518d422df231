// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "expr/expr.hpp"

namespace fuseplan {

// The readers of an expression that need no device. The vector machine code reader is
// kernels/cpu/emit; printing for people is to_text in expr.hpp.

/// Values of leaves for one element.
struct LeafValues {
  double input = 0, previous = 0;
  std::span<const double> scalars, channels, elements;
};

/// All roots, evaluated in double.
std::vector<double> evaluate(const Expr& expr, const LeafValues& leaves);

/// The roots as GPU source: one `const float t<i> = ...;` line per function node. `leaf` names the
/// leaves in that source, `assign` turns root number and its name into the final statement. The
/// source reads FP_INFINITY, FP_NAN and the fp_ functions of functions.def.
std::string gpu_source(const Expr& expr, const std::function<std::string(const Node&)>& leaf,
                       const std::function<std::string(std::size_t, const std::string&)>& assign);

/// d root / d leaf for the only root of `expr`, as an expression over the same leaves. Where a
/// derivative does not exist: that of the branch select takes, 0 for abs at 0, and at a tie that of
/// max's first and min's second argument. So relu'(0) = 0, leakyrelu'(0) is the slope, and a clamp
/// follows its input for low < x <= high. `seed`, a leaf that `expr` does not have, multiplies the
/// result: under a branch that is not taken there is no product, so 0 stays 0 if it is infinite.
Expr differentiate(const Expr& expr, Leaf leaf, int index = 0, Leaf seed = Leaf::none);

}  // namespace fuseplan
