// SPDX-License-Identifier: MIT
#pragma once

#include "expr/readers.hpp"
#include "random_problem.hpp"

namespace fuseplan::test {

inline LeafValues leaf_values(const RandomLeaves& leaves) {
  return {leaves.input, leaves.previous, leaves.scalars, leaves.channels, leaves.elements};
}

/// A split chain's value the way a kernel computes it: uniforms, then channels, then the body.
inline double evaluate_parts(const SplitChain& chain, const RandomLeaves& leaves) {
  const auto uniforms =
      evaluate(chain.uniforms, {.scalars = leaves.scalars, .channels = {}, .elements = {}});
  const auto channels =
      evaluate(chain.channels, {.scalars = uniforms, .channels = leaves.channels, .elements = {}});
  return evaluate(chain.body, {leaves.input, leaves.previous, uniforms, channels, leaves.elements})
      .front();
}

}  // namespace fuseplan::test
