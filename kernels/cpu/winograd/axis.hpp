// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "base/containers.hpp"

namespace fuseplan::cpu {

inline constexpr int kFilterTaps = 3;  ///< of every axis

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

/// One axis of Winograd's F(m, 3) (Lavin and Gray, "Fast algorithms for convolutional neural
/// networks", CVPR 2016): m outputs are A^T [ (G g) .* (B^T d) ] of the m + 2 inputs d and the 3
/// taps g, one product for each of the points where polynomials are evaluated. The maps follow from
/// the points.
struct Axis {
  int outputs = 0;   ///< m
  LinearMap input;   ///< B^T
  LinearMap filter;  ///< G
  LinearMap output;  ///< A^T
  int inputs() const { return outputs + kFilterTaps - 1; }
};

/// The axis for that many outputs; nullptr if there is none.
const Axis* find_axis(int outputs);

}  // namespace fuseplan::cpu
