// SPDX-License-Identifier: MIT
#pragma once

#include "expr/chain.hpp"
#include "plan/problem.hpp"
#include "support/random.hpp"

namespace fuseplan::test {

/// Packed in either layout, or strided: axes in any order, with gaps.
Tensor random_tensor(Random& random, DType dtype, const Dims& lens);

/// A valid problem with up to `max_ops` ops of every kind, rank 2 to 5, any types, layouts and
/// blends; with a convolution in about half of those that have spatial axes.
Problem random_problem(Random& random, int max_ops);

/// Values for the operands of a chain that keep its results moderate.
struct RandomLeaves {
  double input, previous;
  std::vector<double> scalars, channels, elements;
};
RandomLeaves random_leaves(Random& random, const Chain& chain);

}  // namespace fuseplan::test
