// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/geometry.hpp"
#include "kernels/gpu/conv_hopper.hpp"
#include "kernels/gpu/conv_source.hpp"

namespace fuseplan::gpu {

/// How results leave, numbered as FP_STORE: by stores of threads, through the copy engine, or by
/// stores of threads that go along pixels instead of channels.
enum class HopperStore { threads, copies, planes };

/// What a tile takes of a multiprocessor, and how it writes the output.
struct HopperShape {
  int stages = 0;  ///< tiles of both factors on their way or in use
  HopperStore store{};
  unsigned shared_bytes = 0;
};
HopperShape hopper_shape(const Problem& problem, const SplitChain& chain, const HopperTile& tile);

/// Of a tile: pieces of 64 values.
std::int64_t hopper_steps(const cpu::ConvGeometry& g, HopperFeed feed);
/// Products of 16 values in a step. Values that fill up the last one are zeros at least of the
/// input: where the filter's is infinite, the result is NaN, as it is at zeros of the padding.
std::int64_t hopper_products(const cpu::ConvGeometry& g, HopperFeed feed);
/// Filters beside gathered pixels that are gathered too: the copy engine wants a filter's taps
/// together, channel by channel, and filters at multiples of 16 bytes.
bool hopper_gathers_filters(const ConvShape& shape);

/// Elements from pixel to pixel, if they lie at equal distances in order of batch, height, width.
std::optional<std::int64_t> pixel_stride(const cpu::View& view);

/// The maps of a launch. `to` is not set.
TensorMap hopper_input_map(const cpu::ConvGeometry& g, DType dtype, int pixels);
TensorMap hopper_weight_map(const cpu::ConvGeometry& g, DType dtype, HopperFeed feed, int channels);
TensorMap hopper_output_map(const cpu::ConvGeometry& g, DType dtype);

}  // namespace fuseplan::gpu
