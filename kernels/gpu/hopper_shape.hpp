// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/geometry.hpp"
#include "kernels/gpu/conv_hopper.hpp"
#include "kernels/gpu/conv_source.hpp"

namespace fuseplan::gpu {

/// The convolution as Hopper's kernels see it: without groups.
struct HopperConv : ConvShape {
  /// Channels of a group, if there are groups: 64 outputs of a tile read 64 inputs, those of the
  /// same groups, and filters are zeros where groups differ. 0: there is one group.
  std::int64_t packed = 0;
};
HopperConv hopper_conv(const Problem& problem, const SplitChain& chain);

/// How results leave, numbered as FP_STORE: by stores of threads, through the copy engine, or by
/// stores of threads that go along pixels instead of channels.
enum class HopperStore { threads, copies, planes };

inline constexpr HopperTile kSmallestHopperTile{128, 64};
inline constexpr int kFewestHopperStages = 3;  ///< with which a tile is worth its start

/// What a tile takes of a multiprocessor, and how it writes the output.
struct HopperShape {
  int producers = 1;  ///< warpgroups that bring factors; two more multiply
  int stages = 0;     ///< tiles of both factors on their way or in use
  /// Threads gather two pixels at once, a word with each load: where columns are neighbours in
  /// memory, the filter takes each, rows are of even lengths at even distances, registers hold a
  /// step's words, and there is a stage for each group of threads. The input starts at a multiple
  /// of 4 bytes, then.
  bool pairs = false;
  /// Filters of packed groups are loaded 16 bytes at once, and start at multiples of that.
  bool wide_filters = false;
  HopperStore store{};
  int together = 1;  ///< results that a thread stores at once, at a multiple of as many
  unsigned shared_bytes = 0;
};
HopperShape hopper_shape(const Problem& problem, const SplitChain& chain, HopperFeed feed,
                         const HopperTile& tile);

/// How threads gather the depth.
struct HopperGather {
  std::int64_t channels = 0;    ///< whose taps a step holds
  std::int64_t shift_unit = 8;  ///< a step's values start at a multiple of it in a row of 64
  std::int64_t values = 0;      ///< of a row at most, with what the start leaves out
};
HopperGather hopper_gather(const HopperConv& shape);

/// Of a tile: pieces of 128 bytes.
std::int64_t hopper_steps(const HopperConv& shape, HopperFeed feed, DType input);
/// Products of 32 bytes in a step. Values of a row that are not the step's are zeros at least of
/// the input: where the filter's is infinite, the result is NaN, as it is at zeros of the padding.
std::int64_t hopper_products(const HopperConv& shape, HopperFeed feed, DType input);
/// Filters that threads gather, and that stay in shared memory: of packed groups, and those beside
/// gathered pixels that the copy engine cannot fetch, which wants a filter's taps together, channel
/// by channel, and filters at multiples of 16 bytes.
bool hopper_keeps_filters(const HopperConv& shape, HopperFeed feed);
/// Rows of filters that stay, for each step: a tile's, or K up to a multiple of that.
std::int64_t hopper_filter_rows(const HopperConv& shape, const HopperTile& tile);

/// Elements from pixel to pixel, if they lie at equal distances in order of batch, height, width.
std::optional<std::int64_t> pixel_stride(const cpu::View& view);

/// The maps of a launch. `to` is not set.
TensorMap hopper_input_map(const cpu::ConvGeometry& g, DType dtype, int pixels);
TensorMap hopper_weight_map(const cpu::ConvGeometry& g, DType dtype, HopperFeed feed, int channels);
TensorMap hopper_output_map(const cpu::ConvGeometry& g, DType dtype);

}  // namespace fuseplan::gpu
