// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/weights.hpp"

#include <algorithm>
#include <array>

#include "base/memory.hpp"
#include "kernels/cpu/direct/moves.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kTaps = std::int64_t{kFilterTaps} * kFilterTaps;
constexpr std::int64_t kFloat = sizeof(float);

/// Input channels whose filters are gathered together.
constexpr std::int64_t kChannels = 16;

/// Offsets of the taps of a filter, in elements.
std::array<std::int64_t, kTaps> taps_of(const ConvGeometry& conv) {
  std::array<std::int64_t, kTaps> taps{};
  for (std::int64_t tap = 0; tap < kTaps; ++tap)
    taps[static_cast<std::size_t>(tap)] =
        tap / kFilterTaps * conv.weight_stride[3] + tap % kFilterTaps * conv.weight_stride[4];
  return taps;
}

/// Transforms the weights of tiles of output channels.
class Transformer {
 public:
  Transformer(const WinogradPlan& plan, FilterKernel kernel, const void* raw, float* transformed)
      : plan_(plan),
        conv_(plan.shape.conv),
        kernel_(kernel),
        raw_(static_cast<const std::byte*>(raw)),
        transformed_(transformed),
        size_(static_cast<std::int64_t>(size_of(plan.shape.weights))),
        moves_(moves_for(plan.shape.weights, plan.isa)),
        taps_(taps_of(conv_)),
        lines_(scratch_.take_array<float>(static_cast<std::size_t>(plan.lanes() * kLine))),
        filters_(scratch_.take_array<float>(static_cast<std::size_t>(plan.lanes() * kLine))) {
    const bool plain = conv_.weight_stride[1] == kTaps && taps_.back() == kTaps - 1;
    taps_are_inner_ = plain && std::ranges::is_sorted(taps_);
  }

  void run(std::int64_t channel_tile) {
    const std::int64_t width = plan_.width_of(channel_tile);
    float* output = transformed_ + winograd_weight_offset(plan_, channel_tile, 0);
    for (std::int64_t first = 0; first < plan_.inputs(); first += kChannels) {
      const std::int64_t count = std::min(kChannels, plan_.inputs() - first);
      for (std::int64_t vector = 0; vector < plan_.vectors_of(channel_tile); ++vector) {
        const std::int64_t lane = vector * plan_.lanes();
        gather(channel_tile * plan_.width() + lane, first, count);
        const FilterCall call{filters_, output + first * width + lane,
                              plan_.inputs() * width * kFloat, width * kFloat, count};
        kernel_(&call);
      }
    }
  }

 private:
  static constexpr std::int64_t kLine = kChannels * kTaps;

  const std::byte* at(std::int64_t output, std::int64_t input) const {
    return raw_ + (output * conv_.weight_stride[0] + input * conv_.weight_stride[1]) * size_;
  }

  /// filters_[input channel][tap][lane], zero behind the last output channel.
  void gather(std::int64_t output, std::int64_t input, std::int64_t count) {
    const std::int64_t lanes = plan_.lanes();
    const std::int64_t outputs = std::min(lanes, plan_.outputs() - output);
    if (taps_are_inner_ && plan_.shape.weights == DType::f32 && outputs == lanes &&
        count == kChannels)
      return moves_.turn(reinterpret_cast<const float*>(at(output, input)), conv_.weight_stride[0],
                         lanes, kLine, filters_, lanes);
    std::fill_n(lines_, lanes * kLine, 0.0F);
    for (std::int64_t lane = 0; lane < outputs; ++lane) {
      float* line = lines_ + lane * kLine;
      const std::byte* from = at(output + lane, input);
      if (taps_are_inner_) {
        moves_.widen(from, 1, line, count * kTaps);
        continue;
      }
      for (const std::int64_t tap : taps_) {
        moves_.widen(from + tap * size_, conv_.weight_stride[1], line, count);
        line += kChannels;
      }
    }
    if (taps_are_inner_) return moves_.turn(lines_, kLine, lanes, kLine, filters_, lanes);
    for (std::int64_t tap = 0; tap < kTaps; ++tap)
      moves_.turn(lines_ + tap * kChannels, kLine, lanes, kChannels, filters_ + tap * lanes,
                  kTaps * lanes);
  }

  const WinogradPlan& plan_;
  const ConvGeometry& conv_;
  FilterKernel kernel_;
  const std::byte* raw_;
  float* transformed_;
  std::int64_t size_;
  Moves moves_;
  std::array<std::int64_t, kTaps> taps_;
  bool taps_are_inner_ = false;  ///< a filter's taps, and then the next channel's, are contiguous
  Scratch scratch_;
  float *lines_, *filters_;
};

}  // namespace

std::int64_t winograd_weight_offset(const WinogradPlan& plan, std::int64_t channel_tile,
                                    std::int64_t position) {
  return plan.inputs() *
         (channel_tile * plan.width() * plan.positions() + position * plan.width_of(channel_tile));
}

std::size_t winograd_weight_bytes(const WinogradPlan& plan) {
  return static_cast<std::size_t>(
             winograd_weight_offset(plan, plan.channel_tiles - 1, plan.positions())) *
         sizeof(float);
}

void transform_weights(const WinogradPlan& plan, FilterKernel kernel, const void* raw,
                       float* transformed, const Parallel& parallel) {
  const long tiles = plan.channel_tiles;
  const int parts = static_cast<int>(std::min<long>(tiles, parallel.threads()));
  parallel(parts, [&](int part) {
    Transformer transformer(plan, kernel, raw, transformed);
    const Range range = split(tiles, parts, part);
    for (long i = range.first; i < range.last; ++i) transformer.run(i);
  });
}

}  // namespace fuseplan::cpu
