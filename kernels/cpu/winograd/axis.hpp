// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/containers.hpp"

namespace fuseplan::cpu {

/// A linear map of a few vectors to a few vectors, as a sequence of sums. Values are numbered:
/// first the inputs, then the steps in their order.
struct LinearMap {
  struct Term {
    int value;
    float factor;
  };
  struct Step {
    SmallVector<Term, 4> terms;  ///< summed in their order
    int output = -1;             ///< which output of the map it is; -1: none
  };
  int inputs = 0, outputs = 0;
  std::vector<Step> steps;
};

/// One axis of Winograd's F(m, r) (Lavin and Gray, "Fast algorithms for convolutional neural
/// networks", CVPR 2016): m outputs are A^T [ (G g) .* (B^T d) ] of the m + r - 1 inputs d and the
/// r taps g, one product for each of the points where polynomials are evaluated. The maps follow
/// from the points. With one tap nothing is transformed.
///
/// At stride 2 every other input meets every other tap, so F(m, r) of 3 taps is F(m, 2) of the
/// inputs with even numbers and of the outer taps, plus m products with the middle one.
struct Axis {
  int taps = 0;  ///< r
  int stride = 1;
  int outputs = 0;   ///< m
  LinearMap input;   ///< B^T
  LinearMap filter;  ///< G
  LinearMap output;  ///< A^T
  /// As many as products.
  int inputs() const { return (outputs - 1) * stride + taps; }
  /// Of them, those where polynomials are evaluated: they make the error.
  int points() const { return inputs() - (stride - 1) * outputs; }
};

/// Axes for filters of so many taps, by the number of outputs; none if there are no points for
/// them. They live as long as the process.
std::vector<const Axis*> axes_of(std::int64_t taps, std::int64_t stride = 1);
/// The one with that many outputs, or nullptr.
const Axis* find_axis(std::int64_t taps, std::int64_t stride, int outputs);

}  // namespace fuseplan::cpu
