// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/chain_tensors.hpp"
#include "kernels/cpu/isa.hpp"

namespace fuseplan::cpu {

/// A 1x1 convolution with its chain, the pixels of an image (of all images, where memory allows it)
/// merged into one row.
struct Conv1x1Shape {
  Isa isa{};  ///< AVX2 or AVX-512
  ConvGeometry conv;
  DType input{}, weights{}, output{};
  std::vector<ElementView> elements;
  bool lanes_are_channels = true;  ///< which axis of the output vectors are stored along
  bool flat = false;               ///< the input's pixels are merged like the output's, and as many
  std::array<std::int64_t, 3> output_lens{};  ///< depth, height, width before that

  /// Kernels multiply f32: other inputs are widened on their way to scratch.
  bool reads_in_place() const { return flat && input == DType::f32; }
  int lanes() const { return lanes_of(isa); }
  std::int64_t images() const { return conv.output.len[0]; }
  std::int64_t pixels() const { return conv.output.len[4]; }  ///< of an image
  std::int64_t inputs() const { return conv.group_inputs; }
  std::int64_t outputs() const { return conv.group_outputs; }
  /// Input and output together are more than caches keep from call to call.
  bool is_far(const CoreRates& rates) const {
    const std::int64_t bytes = conv.input.elements() * static_cast<std::int64_t>(size_of(input)) +
                               conv.output.elements() * static_cast<std::int64_t>(size_of(output));
    return static_cast<double>(bytes) > rates.far.bytes;
  }
  ChainTensors tensors() const {
    const std::size_t lane = lanes_are_channels ? 1 : 4, row = lanes_are_channels ? 4 : 1;
    return {conv.output, output, elements, lane, row};
  }
};

/// Why a convolution is none of this kind; nothing if it is one.
std::optional<std::string> conv1x1_geometry_refusal(const Problem& problem);

/// `problem` is not refused.
Conv1x1Shape conv1x1_shape(const Problem& problem, const SplitChain& chain, Isa isa);

/// Why the output or an operand cannot be walked as rows of vectors; nothing if they can.
std::optional<std::string> conv1x1_layout_refusal(const Conv1x1Shape& shape);

}  // namespace fuseplan::cpu
