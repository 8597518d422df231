// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/pack_pairs.hpp"

#include <algorithm>
#include <bit>

#include "base/memory.hpp"
#include "kernels/cpu/direct/pack_weights.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kLanes = 16;
alignas(64) constexpr float kZeros[kLanes] = {};

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

PairPacker::PairPacker(const DirectPlan& plan, const void* raw)
    : plan_(plan),
      raw_(static_cast<const Half*>(raw)),
      moves_(moves_for(DType::bf16, plan.isa)),
      taps_(plan.source.filter[0] * plan.source.filter[1] * plan.source.filter[2]) {}

template <typename Each>
void PairPacker::each_tap(const Each& each) const {
  const auto& filter = plan_.shape.conv.filter;
  for (std::int64_t plane = 0; plane < filter[0]; ++plane)
    for (std::int64_t row = 0; row < filter[1]; ++row)
      for (std::int64_t tap = 0; tap < filter[2]; ++tap) each(std::array{plane, row, tap});
}

// Contiguous input channels are pairs already, and only change places; filters contiguous in memory
// are turned in squares; what is left is gathered.
void PairPacker::pack(std::int64_t channel, std::int64_t count, float* output,
                      std::int64_t step) const {
  const auto& stride = plan_.source.weight_stride;
  const Target target{raw_ + channel * stride[0], std::min(count, kLanes), output, step};
  if (!plan_.joined && stride[1] == 1)
    return each_tap([&](const auto& tap) { pack_lines(target, tap); });
  const auto& filter = plan_.source.filter;
  if (!plan_.joined && stride[1] == taps_ && stride[2] == filter[1] * filter[2] &&
      stride[3] == filter[2] && stride[4] == 1)
    return pack_filters(target);
  each_tap([&](const auto& tap) {
    for (std::int64_t s = 0; s < plan_.depth; ++s) gather(target, s, tap);
  });
}

void PairPacker::pack_lines(const Target& target, const std::array<std::int64_t, 3>& tap) const {
  const float* rows[kLanes];
  float* columns[kLanes];
  std::int64_t step = 0;
  for (; 2 * (step + kLanes) <= plan_.source.group_inputs; step += kLanes) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      columns[i] = target.vector(packed_index(plan_, {step + i, tap[0], tap[1], tap[2]}));
      rows[i] = kZeros;
      if (i < target.count)
        rows[i] = reinterpret_cast<const float*>(target.first + i * plan_.source.weight_stride[0] +
                                                 source(2 * step, tap));
    }
    moves_.transpose(rows, columns);
  }
  for (; step < plan_.depth; ++step) gather(target, step, tap);
}

void PairPacker::pack_filters(const Target& target) const {
  Scratch scratch;
  float* turned = scratch.take_array<float>(static_cast<std::size_t>(kLanes * taps_ * kLanes));
  alignas(64) float widened[kLanes][kLanes];
  const float* rows[kLanes];
  float* columns[kLanes];
  std::int64_t channel = 0;
  for (; channel + kLanes <= plan_.source.group_inputs; channel += kLanes) {
    for (std::int64_t square = 0; square < taps_; ++square) {
      for (std::int64_t i = 0; i < kLanes; ++i) {
        columns[i] = turned + (square * kLanes + i) * kLanes;
        rows[i] = kZeros;
        if (i >= target.count) continue;
        moves_.widen(
            target.first + i * plan_.source.weight_stride[0] + channel * taps_ + square * kLanes, 1,
            widened[i], kLanes);
        rows[i] = widened[i];
      }
      moves_.transpose(rows, columns);
    }
    std::int64_t number = 0;
    each_tap([&](const auto& tap) {
      for (std::int64_t pair = 0; pair < kLanes / 2; ++pair) {
        const float* even = turned + (2 * pair * taps_ + number) * kLanes;
        const float* odd = even + taps_ * kLanes;
        float* output =
            target.vector(packed_index(plan_, {channel / 2 + pair, tap[0], tap[1], tap[2]}));
        for (std::int64_t i = 0; i < kLanes; ++i)
          output[i] = std::bit_cast<float>(bits_of(odd[i]) | bits_of(even[i]) >> 16);
      }
      ++number;
    });
  }
  each_tap([&](const auto& tap) {
    for (std::int64_t step = channel / 2; step < plan_.depth; ++step) gather(target, step, tap);
  });
}

/// Where the weight of an input channel (or, joined, of a tap's channel) lies behind its output
/// channel's first.
std::int64_t PairPacker::source(std::int64_t channel,
                                const std::array<std::int64_t, 3>& tap) const {
  const auto& stride = plan_.source.weight_stride;
  const std::int64_t inputs = plan_.source.group_inputs;
  const std::int64_t column = plan_.joined ? channel / inputs : tap[2];
  return channel % inputs * stride[1] + tap[0] * stride[2] + tap[1] * stride[3] +
         column * stride[4];
}

void PairPacker::gather(const Target& target, std::int64_t step,
                        const std::array<std::int64_t, 3>& tap) const {
  float* output = target.vector(packed_index(plan_, {step, tap[0], tap[1], tap[2]}));
  const bool whole = 2 * step + 1 < plan_.shape.conv.group_inputs;
  for (std::int64_t i = 0; i < kLanes; ++i) {
    std::uint32_t bits = 0;
    if (i < target.count) {
      const Half* weights = target.first + i * plan_.source.weight_stride[0];
      bits = weights[source(2 * step, tap)];
      if (whole) bits |= static_cast<std::uint32_t>(weights[source(2 * step + 1, tap)]) << 16;
    }
    output[i] = std::bit_cast<float>(bits);
  }
}

}  // namespace fuseplan::cpu
