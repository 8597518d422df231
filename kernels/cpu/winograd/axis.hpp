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
    SmallVector<Term, 4> terms;  ///< a factor of 1 first, if there is one
    int output = -1;             ///< which output of the map it is; -1: none
  };
  int inputs = 0, outputs = 0;
  std::vector<Step> steps;
};

/// One axis of Winograd's F(m, r) (Lavin and Gray, "Fast algorithms for convolutional neural
/// networks", CVPR 2016): m outputs are A^T [ (G g) .* (B^T d) ] of the inputs d and the r taps g,
/// one product for each *position*. At stride 1 positions are the m + r - 1 points where
/// polynomials are evaluated; at a larger stride, taps and inputs are dealt out to as many
/// convolutions at stride 1, whose positions follow each other and whose outputs are added. One tap
/// needs no points: its positions are the outputs. The maps follow from the points.
struct Axis {
  int taps = 0, stride = 0;
  int outputs = 0;   ///< m
  int points = 0;    ///< of one of the convolutions at stride 1: errors grow with them
  LinearMap input;   ///< B^T
  LinearMap filter;  ///< G
  LinearMap output;  ///< A^T
  int inputs() const { return (outputs - 1) * stride + taps; }
  int positions() const { return input.outputs; }
};

/// Axes for filters of so many taps at that stride; none if there are no points for them. They live
/// as long as the process.
std::vector<const Axis*> axes_of(std::int64_t taps, std::int64_t stride);
/// The one with that many outputs, or nullptr.
const Axis* find_axis(std::int64_t taps, std::int64_t stride, int outputs);

}  // namespace fuseplan::cpu
