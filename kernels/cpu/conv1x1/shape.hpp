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
  /// Each group of an image is walked as an image of its own.
  std::int64_t images() const { return conv.output.len[0] * conv.groups; }
  std::int64_t pixels() const { return conv.output.len[4]; }  ///< of an image
  std::int64_t inputs() const { return conv.group_inputs; }   ///< of a group
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

/// Why a convolution is none of this kind, apart from its groups; nothing if it is one.
std::optional<std::string> conv1x1_geometry_refusal(const Problem& problem);

/// `problem` is not refused.
Conv1x1Shape conv1x1_shape(const Problem& problem, const SplitChain& chain, Isa isa);

/// Several groups only in planes: where channels are contiguous, one group after the other would
/// read and write a part of each pixel at a time.
inline bool walks_groups(const Conv1x1Shape& shape) {
  return shape.conv.groups == 1 || !shape.lanes_are_channels;
}

inline bool reads_planes(const Conv1x1Shape& shape) { return shape.conv.input.stride[1] != 1; }

/// Planes that are staged for channels in vectors become rows of channels. On AVX2 only: lines of
/// planes, one for each input and tile, come from the second-level cache no faster than its tiles'
/// few products are made; 320 to 1280 channels at 7 x 7 pixels took 0.74 of the time on a Zen 4.
inline bool turns_planes(const Conv1x1Shape& shape) {
  return reads_planes(shape) && shape.isa == Isa::avx2 && shape.inputs() >= shape.lanes();
}

/// Planes that by channel may be copied to panels or not, also those of several images: a tile's
/// pixels, mostly in two lines of each plane, are then in one run, and weights come once for all of
/// these images.
inline bool has_short_planes(const Conv1x1Shape& shape) {
  constexpr std::int64_t kShort = 64;
  return shape.isa == Isa::avx512 && reads_planes(shape) && !shape.lanes_are_channels &&
         shape.pixels() < kShort && shape.pixels() % shape.lanes() != 0;
}

/// Lanes that a kernel stores one after another where its tiles end at multiples of `step`: vectors
/// of AVX2 are parts of lines, but the few rows of its tiles leave only as few lines begun.
inline std::int64_t lanes_of_run(const Conv1x1Shape& shape, std::int64_t step) {
  return shape.isa == Isa::avx2 ? step : shape.lanes();
}

/// Why the output or an operand cannot be walked as rows of vectors; nothing if they can.
std::optional<std::string> conv1x1_layout_refusal(const Conv1x1Shape& shape);

}  // namespace fuseplan::cpu
