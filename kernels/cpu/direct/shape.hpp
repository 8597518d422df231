// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/chain_tensors.hpp"

namespace fuseplan::cpu {

/// A convolution with its chain, reduced to what the direct kernels look at. Pointwise convolutions
/// over memory that allows it have their axes merged into one long row.
struct DirectShape {
  ConvGeometry conv;
  DType input{}, weights{}, output{};
  std::vector<ElementView> elements;
  bool lanes_are_channels = true;  ///< which axis of the output vectors are stored along

  ChainTensors tensors() const {
    const std::size_t lane = lanes_are_channels ? 1 : 4, row = lanes_are_channels ? 4 : 1;
    return {conv.output, output, elements, lane, row};
  }
  std::int64_t taps() const { return conv.filter[0] * conv.filter[1] * conv.filter[2]; }
  /// Summing takes no longer than it takes to have the output's lines.
  bool is_held_by_stores() const { return conv.group_inputs * taps() <= 96; }
  /// A tile's steps through the input tensor fit the 32 bits of an instruction.
  bool reads_in_place() const;
};

/// `problem` starts with a convolution.
DirectShape direct_shape(const Problem& problem, const SplitChain& chain);

}  // namespace fuseplan::cpu
