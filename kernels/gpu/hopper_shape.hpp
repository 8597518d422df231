// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/geometry.hpp"
#include "kernels/gpu/conv_hopper.hpp"

namespace fuseplan::gpu {

/// What a tile takes of a multiprocessor, and how it writes the output.
struct HopperShape {
  int stages = 0;         ///< tiles of both factors on their way or in use
  bool store_map = true;  ///< results leave through the copy engine, and not by stores of threads
  unsigned shared_bytes = 0;
};
HopperShape hopper_shape(const Problem& problem, const SplitChain& chain, const HopperTile& tile);

/// Elements from pixel to pixel, if they lie at equal distances in order of batch, height, width.
std::optional<std::int64_t> pixel_stride(const cpu::View& view);

/// The maps of a launch. `to` is not set.
TensorMap hopper_input_map(const cpu::ConvGeometry& g, DType dtype, int pixels);
TensorMap hopper_weight_map(const cpu::ConvGeometry& g, DType dtype, int channels);
TensorMap hopper_output_map(const cpu::ConvGeometry& g, DType dtype);

}  // namespace fuseplan::gpu
