// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/geometry.hpp"
#include "kernels/gpu/conv_hopper.hpp"

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
HopperShape hopper_shape(const Problem& problem, const SplitChain& chain, HopperFeed feed,
                         const HopperTile& tile);

/// Pieces of 64 values, of which each step of a tile is one.
std::int64_t hopper_steps(const cpu::ConvGeometry& g, HopperFeed feed);
/// Products of 16 values in a step; where there is but a piece, the rest of it is zeros.
std::int64_t hopper_products(const cpu::ConvGeometry& g, HopperFeed feed);
/// Filters that are gathered, whose rows the copy engine cannot take.
bool hopper_gathers_filters(const cpu::ConvGeometry& g);

/// Elements from pixel to pixel, if they lie at equal distances in order of batch, height, width.
std::optional<std::int64_t> pixel_stride(const cpu::View& view);

/// The maps of a launch. `to` is not set.
TensorMap hopper_input_map(const cpu::ConvGeometry& g, DType dtype, int pixels);
TensorMap hopper_weight_map(const cpu::ConvGeometry& g, DType dtype, HopperFeed feed, int channels);
TensorMap hopper_output_map(const cpu::ConvGeometry& g, DType dtype);

}  // namespace fuseplan::gpu
