// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/weights.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kTaps = 9;

/// Offsets of the taps of a filter, in elements.
std::array<std::int64_t, kTaps> taps_of(const ConvGeometry& conv) {
  std::array<std::int64_t, kTaps> taps{};
  for (std::int64_t tap = 0; tap < kTaps; ++tap)
    taps[static_cast<std::size_t>(tap)] =
        tap / 3 * conv.weight_stride[3] + tap % 3 * conv.weight_stride[4];
  return taps;
}

}  // namespace

std::int64_t winograd_weight_offset(const WinogradPlan& plan, std::int64_t channel_tile,
                                    std::int64_t position) {
  const std::int64_t full = kPieceVectors * kTileLanes;
  return plan.inputs() *
         (channel_tile * full * kPositions + position * plan.width_of(channel_tile));
}

std::size_t winograd_weight_bytes(const WinogradPlan& plan) {
  return static_cast<std::size_t>(
             winograd_weight_offset(plan, plan.channel_tiles - 1, kPositions)) *
         sizeof(float);
}

void transform_weights(const WinogradPlan& plan, const float* raw, float* transformed,
                       const Parallel& parallel) {
  const auto& stride = plan.shape.conv.weight_stride;
  const auto taps = taps_of(plan.shape.conv);
  const auto transform_vector = [&](std::int64_t vector) {
    alignas(64) float filter[kTaps * kTileLanes] = {};
    const std::int64_t tile = vector / kPieceVectors, first = vector * kTileLanes;
    const std::int64_t count = std::min(kTileLanes, plan.outputs() - first);
    const std::int64_t width = plan.width_of(tile);
    float* output =
        transformed + winograd_weight_offset(plan, tile, 0) + vector % kPieceVectors * kTileLanes;
    for (std::int64_t input = 0; input < plan.inputs(); ++input) {
      for (std::int64_t lane = 0; lane < count; ++lane) {
        const float* from = raw + (first + lane) * stride[0] + input * stride[1];
        for (std::size_t tap = 0; tap < kTaps; ++tap)
          filter[static_cast<std::int64_t>(tap) * kTileLanes + lane] = from[taps[tap]];
      }
      transform_filter(filter, output + input * width, plan.inputs() * width);
    }
  };
  const long vectors = (plan.outputs() + kTileLanes - 1) / kTileLanes;
  const int parts = static_cast<int>(std::min<long>(vectors, parallel.threads()));
  parallel(parts, [&](int part) {
    const Range range = split(vectors, parts, part);
    for (long i = range.first; i < range.last; ++i) transform_vector(i);
  });
}

}  // namespace fuseplan::cpu
