// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/weights.hpp"

#include <algorithm>

#include "kernels/cpu/parts.hpp"
#include "kernels/cpu/prefetch.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

SmallVector<std::int64_t, kMostTaps> taps_of(const ConvGeometry& conv) {
  SmallVector<std::int64_t, kMostTaps> taps;
  for (std::int64_t row = 0; row < conv.filter[1]; ++row)
    for (std::int64_t column = 0; column < conv.filter[2]; ++column)
      taps.push_back(row * conv.weight_stride[3] + column * conv.weight_stride[4]);
  return taps;
}

}  // namespace

FilterTransform::FilterTransform(const WinogradPlan& plan, FilterKernel kernel, const void* raw,
                                 Scratch& scratch)
    : plan_(plan),
      conv_(plan.shape.conv),
      kernel_(kernel),
      raw_(static_cast<const std::byte*>(raw)),
      size_(static_cast<std::int64_t>(size_of(plan.shape.weights))),
      moves_(moves_for(plan.shape.weights, plan.isa)),
      taps_(taps_of(conv_)),
      line_(kChannels * std::ssize(taps_)),
      lines_(scratch.take_array<float>(static_cast<std::size_t>(plan.lanes() * line_))),
      filters_(scratch.take_array<float>(static_cast<std::size_t>(plan.lanes() * line_))) {
  const std::int64_t taps = std::ssize(taps_);
  const bool plain = conv_.weight_stride[1] == taps && taps_.back() == taps - 1;
  taps_are_inner_ = plain && std::ranges::is_sorted(taps_);
  channels_are_inner_ = conv_.weight_stride[1] == 1;
}

void FilterTransform::run(std::int64_t channel_tile, float* output, std::int64_t position) {
  const std::int64_t width = plan_.width_of(channel_tile);
  for (std::int64_t first = 0; first < plan_.inputs(); first += kChannels) {
    const std::int64_t count = std::min(kChannels, plan_.inputs() - first);
    for (std::int64_t vector = 0; vector < plan_.vectors_of(channel_tile); ++vector) {
      const std::int64_t lane = vector * plan_.lanes();
      ask_for(channel_tile * plan_.width() + lane, first + kChannels);
      gather(channel_tile * plan_.width() + lane, first, count);
      const FilterCall call{filters_, output + first * width + lane, position * kFloat,
                            width * kFloat, count};
      kernel_(&call);
    }
  }
}

const std::byte* FilterTransform::at(std::int64_t output, std::int64_t input) const {
  return raw_ + (output * conv_.weight_stride[0] + input * conv_.weight_stride[1]) * size_;
}

/// Filters of as many output channels are as many streams through memory, which hardware does not
/// foresee.
void FilterTransform::ask_for(std::int64_t output, std::int64_t input) const {
  if (input + kChannels > plan_.inputs()) return;
  const std::int64_t outputs = std::min(plan_.lanes(), plan_.outputs() - output);
  for (std::int64_t lane = 0; lane < outputs; ++lane) {
    const std::byte* from = at(output + lane, input);
    if (taps_are_inner_) prefetch_lines(from, line_ * size_);
    if (!channels_are_inner_) continue;
    for (const std::int64_t tap : taps_) prefetch_lines(from + tap * size_, kChannels * size_);
  }
}

/// filters_[input channel][tap][lane], zero behind the last output channel.
void FilterTransform::gather(std::int64_t output, std::int64_t input, std::int64_t count) {
  const std::int64_t lanes = plan_.lanes(), taps = std::ssize(taps_);
  const std::int64_t outputs = std::min(lanes, plan_.outputs() - output);
  if (plan_.shape.weights == DType::f32 && outputs == lanes && count == kChannels) {
    const auto* from = reinterpret_cast<const float*>(at(output, input));
    const std::int64_t step = conv_.weight_stride[0];
    if (taps_are_inner_) return moves_.turn(from, step, lanes, line_, filters_, lanes);
    if (channels_are_inner_) {
      for (std::size_t tap = 0; tap < taps_.size(); ++tap)
        moves_.turn(from + taps_[tap], step, lanes, kChannels,
                    filters_ + static_cast<std::int64_t>(tap) * lanes, taps * lanes);
      return;
    }
  }
  std::fill_n(lines_, lanes * line_, 0.0F);
  for (std::int64_t lane = 0; lane < outputs; ++lane) {
    float* line = lines_ + lane * line_;
    const std::byte* from = at(output + lane, input);
    if (taps_are_inner_) {
      moves_.widen(from, 1, line, count * taps);
      continue;
    }
    for (const std::int64_t tap : taps_) {
      moves_.widen(from + tap * size_, conv_.weight_stride[1], line, count);
      line += kChannels;
    }
  }
  if (taps_are_inner_) return moves_.turn(lines_, line_, lanes, line_, filters_, lanes);
  for (std::int64_t tap = 0; tap < taps; ++tap)
    moves_.turn(lines_ + tap * kChannels, line_, lanes, kChannels, filters_ + tap * lanes,
                taps * lanes);
}

std::int64_t winograd_weight_offset(const WinogradPlan& plan, std::int64_t channel_tile,
                                    std::int64_t position) {
  return channel_tile * plan.positions() * plan.weights_stride(0) +
         position * plan.weights_stride(channel_tile);
}

std::size_t winograd_weight_bytes(const WinogradPlan& plan) {
  return static_cast<std::size_t>(
             winograd_weight_offset(plan, plan.channel_tiles - 1, plan.positions())) *
         sizeof(float);
}

bool weights_come_from_far(const WinogradPlan& plan) {
  return winograd_weight_bytes(plan) > std::size_t{kFarWeightBytes};
}

// A narrow vector is half a line, which memory is better not sent by itself.
bool streams_weights(const WinogradPlan& plan) {
  constexpr std::size_t kCached = 16 << 20;
  return plan.isa == Isa::avx512 && winograd_weight_bytes(plan) > kCached;
}

void transform_weights(const WinogradPlan& plan, FilterKernel kernel, const void* raw,
                       float* transformed, const Parallel& parallel) {
  for_each_range(parallel, plan.channel_tiles, [&](Range range) {
    Scratch scratch;
    FilterTransform transform(plan, kernel, raw, scratch);
    for (long i = range.first; i < range.last; ++i)
      transform.run(i, transformed + winograd_weight_offset(plan, i, 0), plan.weights_stride(i));
  });
}

}  // namespace fuseplan::cpu
