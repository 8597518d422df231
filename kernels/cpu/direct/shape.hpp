// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/chain.hpp"
#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// A convolution with its chain, reduced to what the direct kernels look at. Pointwise convolutions
/// over memory that allows it have their axes merged into one long row.
struct DirectShape {
  struct Element {
    DType dtype;
    View view;  ///< broadcast over the output
  };
  ConvGeometry conv;
  DType input{}, weights{}, output{};
  std::vector<Element> elements;
  bool lanes_are_channels = true;  ///< which axis of the output vectors are stored along

  int lane_axis() const { return lanes_are_channels ? 1 : 4; }
  std::int64_t taps() const { return conv.filter[0] * conv.filter[1] * conv.filter[2]; }
};

/// `problem` starts with a convolution.
DirectShape direct_shape(const Problem& problem, const SplitChain& chain);

/// Why the output or an operand cannot be stored or read in vectors; nothing if they can.
std::optional<std::string> lane_refusal(const DirectShape& shape);

/// Taps of a filter axis that fall inside the image for one output index.
struct TapRange {
  std::int64_t first = 0, count = 0;
};
TapRange taps_inside(const ConvGeometry& conv, int axis, std::int64_t output_index);

}  // namespace fuseplan::cpu
