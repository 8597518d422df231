// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "base/containers.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/moves.hpp"
#include "kernels/cpu/winograd/plan.hpp"
#include "kernels/cpu/winograd/transforms.hpp"

namespace fuseplan::cpu {

/// Transformed weights, f32, read linearly but for a gap behind each position:
///   [tile of output channels][position][input channel][output channel]
/// A tile of channels is as wide as its vectors, with zeros behind the last output channel.
std::size_t winograd_weight_bytes(const WinogradPlan& plan);

/// Whether they are more than second-level caches keep between blocks, beside what else is in use.
bool weights_come_from_far(const WinogradPlan& plan);

/// Floats in front of a position of a tile of channels.
std::int64_t winograd_weight_offset(const WinogradPlan& plan, std::int64_t channel_tile,
                                    std::int64_t position);

using FilterKernel = void (*)(const FilterCall*);

/// Transforms the weights of tiles of output channels.
class FilterTransform {
 public:
  /// `raw`: the plan's tensor. Takes what it needs of `scratch`.
  FilterTransform(const WinogradPlan& plan, FilterKernel kernel, const void* raw, Scratch& scratch);

  /// A tile of channels to `output`, whose positions are `position` floats apart.
  void run(std::int64_t channel_tile, float* output, std::int64_t position);

 private:
  static constexpr std::int64_t kChannels = 16;  ///< whose filters are gathered together

  const std::byte* at(std::int64_t output, std::int64_t input) const;
  void ask_for(std::int64_t output, std::int64_t input) const;
  void gather(std::int64_t output, std::int64_t input, std::int64_t count);

  const WinogradPlan& plan_;
  const ConvGeometry& conv_;
  FilterKernel kernel_;
  const std::byte* raw_;
  std::int64_t size_;
  Moves moves_;
  SmallVector<std::int64_t, kMostTaps> taps_;  ///< of a filter: their offsets, in elements
  std::int64_t line_;                          ///< values that are gathered of an output channel
  bool taps_are_inner_ = false;  ///< a filter's taps, and then the next channel's, are contiguous
  bool channels_are_inner_ = false;
  float *lines_, *filters_;
};

/// Whether they are more than the caches hold until they are read, and better stored around them.
bool streams_weights(const WinogradPlan& plan);

/// All of them; `kernel` streams if streams_weights().
void transform_weights(const WinogradPlan& plan, FilterKernel kernel, const void* raw,
                       float* transformed, const Parallel& parallel);

}  // namespace fuseplan::cpu
