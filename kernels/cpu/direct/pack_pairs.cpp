// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/pack_pairs.hpp"

#include <algorithm>
#include <bit>

#include "kernels/cpu/direct/pack_weights.hpp"
#include "kernels/cpu/pixel_pairs.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kLanes = 16;
alignas(64) constexpr float kZeros[kLanes] = {};

/// Squares of pairs: column j of `rows` becomes the vector columns[j].
struct Square {
  const float* rows[kLanes];
  float* columns[kLanes];
};

}  // namespace

PairPacker::PairPacker(const DirectPlan& plan, const void* raw, Scratch& scratch)
    : plan_(plan),
      raw_(static_cast<const Half*>(raw)),
      moves_(moves_for(DType::bf16, plan.isa)),
      taps_(plan.shape.taps()) {
  const auto& filter = plan.shape.conv.filter;
  const auto& stride = plan.source.weight_stride;
  const std::int64_t channels = plan.shape.conv.group_inputs, inputs = plan.source.group_inputs;
  places_ = scratch.take_array<std::int64_t>(static_cast<std::size_t>(plan.depth * taps_));
  sources_ = scratch.take_array<std::int64_t>(static_cast<std::size_t>(channels * taps_));
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      const std::int64_t plane = tap / filter[2] / filter[1], row = tap / filter[2] % filter[1];
      const std::int64_t column = plan.joined ? channel / inputs : tap % filter[2];
      sources_[channel * taps_ + tap] =
          channel % inputs * stride[1] + plane * stride[2] + row * stride[3] + column * stride[4];
      if (channel % 2 == 0)
        places_[channel / 2 * taps_ + tap] =
            packed_index(plan, {channel / 2, plane, row, tap % filter[2]});
    }
}

bool PairPacker::filters_are_contiguous() const {
  for (std::int64_t i = 0; i < plan_.shape.conv.group_inputs * taps_; ++i)
    if (sources_[i] != i) return false;
  return true;
}

// Contiguous input channels are pairs already, and only change places; filters contiguous in memory
// are paired first; what is left is gathered.
void PairPacker::pack(std::int64_t channel, std::int64_t count, float* output,
                      std::int64_t step) const {
  const Target target{raw_ + channel * plan_.source.weight_stride[0], std::min(count, kLanes),
                      output, step};
  if (!plan_.joined && plan_.source.weight_stride[1] == 1) {
    for (std::int64_t tap = 0; tap < taps_; ++tap) pack_lines(target, tap);
  } else if (!plan_.joined && filters_are_contiguous()) {
    pack_filters(target);
  } else {
    for (std::int64_t s = 0; s < plan_.depth; ++s)
      for (std::int64_t tap = 0; tap < taps_; ++tap) gather(target, s, tap);
  }
}

void PairPacker::pack_lines(const Target& target, std::int64_t tap) const {
  Square square;
  std::int64_t step = 0;
  for (; 2 * (step + kLanes) <= plan_.source.group_inputs; step += kLanes) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      square.columns[i] = vector(target, step + i, tap);
      square.rows[i] = kZeros;
      if (i < target.count)
        square.rows[i] = reinterpret_cast<const float*>(
            target.first + i * plan_.source.weight_stride[0] + sources_[2 * step * taps_ + tap]);
    }
    moves_.transpose(square.rows, square.columns);
  }
  for (; step < plan_.depth; ++step) gather(target, step, tap);
}

void PairPacker::pack_filters(const Target& target) const {
  // Pairs of channels at a time, so that the rows of pairs stay in the first-level cache.
  constexpr std::int64_t kPairs = 8;
  Scratch scratch;
  const std::int64_t row = (kPairs * taps_ + kLanes - 1) / kLanes * kLanes;
  auto* rows = scratch.take_array<std::uint32_t>(static_cast<std::size_t>(kLanes * row));
  alignas(64) float behind[kLanes][kLanes];
  Square square;
  for (std::int64_t first = 0; first < plan_.depth; first += kPairs) {
    const std::int64_t pairs = std::min(kPairs, plan_.depth - first);
    for (std::int64_t i = 0; i < target.count; ++i)
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        const std::int64_t channel = 2 * (first + pair);
        const Half* even = target.first + i * plan_.source.weight_stride[0] + channel * taps_;
        pair_halves(even, channel + 1 < plan_.source.group_inputs ? even + taps_ : nullptr, 1,
                    rows + i * row + pair * taps_, taps_);
      }
    for (std::int64_t e = 0; e < pairs * taps_; e += kLanes) {
      for (std::int64_t i = 0; i < kLanes; ++i) {
        square.rows[i] =
            i < target.count ? reinterpret_cast<const float*>(rows + i * row + e) : kZeros;
        square.columns[i] = e + i < pairs * taps_
                                ? target.output + places_[first * taps_ + e + i] * target.step
                                : behind[i];
      }
      moves_.transpose(square.rows, square.columns);
    }
  }
}

void PairPacker::gather(const Target& target, std::int64_t step, std::int64_t tap) const {
  float* output = vector(target, step, tap);
  const bool whole = 2 * step + 1 < plan_.shape.conv.group_inputs;
  const std::int64_t* source = sources_ + 2 * step * taps_ + tap;
  for (std::int64_t i = 0; i < kLanes; ++i) {
    std::uint32_t bits = 0;
    if (i < target.count) {
      const Half* weights = target.first + i * plan_.source.weight_stride[0];
      bits = weights[source[0]];
      if (whole) bits |= static_cast<std::uint32_t>(weights[source[taps_]]) << 16;
    }
    output[i] = std::bit_cast<float>(bits);
  }
}

}  // namespace fuseplan::cpu
