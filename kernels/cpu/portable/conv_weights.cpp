// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/conv_weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/portable/block_io.hpp"
#include "kernels/cpu/portable/conv_input.hpp"
#include "kernels/cpu/portable/conv_tile.hpp"

namespace fuseplan::cpu {

PackedWeights::PackedWeights(const ConvGeometry& g, const Tensor& raw)
    : filter_(g.filter), raw_(view_of(raw)), dtype_(raw.dtype), raw_text_(to_text(raw)) {
  blocked_channels_ = is_lanewise(g) ? g.output.len[1] : g.group_outputs;
  blocks_per_group_ = (blocked_channels_ + kTileChannels - 1) / kTileChannels;
  channels = g.group_inputs;
  blocks = blocks_per_group_ * (g.output.len[1] / blocked_channels_);
  tap_floats = channels * kTileChannels;
  block_floats = filter_[0] * filter_[1] * filter_[2] * tap_floats;
}

std::int64_t PackedWeights::first_channel(std::int64_t block) const {
  return block / blocks_per_group_ * blocked_channels_ + block % blocks_per_group_ * kTileChannels;
}

int PackedWeights::channel_count(std::int64_t block) const {
  const std::int64_t left = blocked_channels_ - block % blocks_per_group_ * kTileChannels;
  return static_cast<int>(std::min<std::int64_t>(kTileChannels, left));
}

std::size_t PackedWeights::bytes() const {
  return static_cast<std::size_t>(blocks * block_floats) * sizeof(float);
}

std::string PackedWeights::format() const {
  return fmt::format("portable {} {} by {}", raw_text_, blocked_channels_, kTileChannels);
}

void PackedWeights::pack(const void* raw, float* packed, const Parallel& parallel) const {
  const auto& s = raw_.stride;
  const auto element = static_cast<std::int64_t>(size_of(dtype_));
  for_each_unit(parallel, blocks, [&](std::int64_t block) {
    float* to = packed + block * block_floats;
    std::fill_n(to, block_floats, 0.0f);
    const BlockShape shape{static_cast<int>(channels), channel_count(block), kTileChannels};
    for (std::int64_t d = 0; d < filter_[0]; ++d)
      for (std::int64_t h = 0; h < filter_[1]; ++h)
        for (std::int64_t w = 0; w < filter_[2]; ++w, to += tap_floats) {
          const std::int64_t offset = first_channel(block) * s[0] + d * s[2] + h * s[3] + w * s[4];
          load_block(dtype_, static_cast<const std::byte*>(raw) + offset * element, {s[1], s[0]},
                     shape, to);
        }
  });
}

}  // namespace fuseplan::cpu
