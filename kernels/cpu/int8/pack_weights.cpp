// SPDX-License-Identifier: MIT
#include "kernels/cpu/int8/pack_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

/// One vector of output channels of a packed tile.
struct VectorPlace {
  const std::int8_t* raw;   ///< first weight of its first channel
  std::int64_t channels;    ///< at most the lanes
  std::byte* start;         ///< its starts
  std::byte* weights;       ///< its part of the first run's first lane
  std::int64_t lane_bytes;  ///< from one lane of a run to the next
};

/// Writes `Packed` weights and adds them up.
template <typename Packed>
void pack_vector(const BytePlan& plan, const VectorPlace& place) {
  const ConvGeometry& conv = plan.shape.conv;
  const ByteReduction& r = plan.reduction;
  const auto& stride = conv.weight_stride;
  const std::int64_t depth = plan.dot.depth(), lanes = plan.lanes();
  const std::int64_t taps = conv.filter[2] / r.runs, run = taps * conv.group_inputs;
  std::int32_t sums[16] = {};
  std::byte* to = place.weights;
  for (std::int64_t i = 0; i < r.planes * r.rows * r.runs; ++i, to += r.lanes * place.lane_bytes) {
    const std::int8_t* from = place.raw + i / (r.rows * r.runs) * stride[2] +
                              i / r.runs % r.rows * stride[3] + i % r.runs * stride[4];
    for (std::int64_t j = 0; j < r.lanes * depth; ++j) {
      auto* packed = reinterpret_cast<Packed*>(to + j / depth * place.lane_bytes) + j % depth;
      const std::int64_t offset =
          j / conv.group_inputs * stride[4] + j % conv.group_inputs * stride[1];
      const std::int64_t channels = j < run ? place.channels : 0;
      for (std::int64_t k = 0; k < channels; ++k) {
        const std::int8_t weight = from[offset + k * stride[0]];
        packed[k * depth] = weight;
        sums[k] += weight;
      }
      for (std::int64_t k = channels; k < lanes; ++k) packed[k * depth] = 0;
    }
  }
  const bool shifted = plan.dot.kind == DotKind::quads && plan.is_signed();
  for (std::int32_t& sum : sums) sum = shifted ? -128 * sum : 0;
  std::memcpy(place.start, sums, static_cast<std::size_t>(lanes) * sizeof sums[0]);
}

}  // namespace

std::size_t packed_byte_weights_size(const BytePlan& plan) {
  return static_cast<std::size_t>(plan.shape.conv.groups *
                                  plan.weight_offset(plan.tiles_of_channels));
}

void pack_byte_weights(const BytePlan& plan, const std::int8_t* raw, std::byte* packed,
                       const Parallel& parallel) {
  const ConvGeometry& conv = plan.shape.conv;
  const std::int64_t lanes = plan.lanes(), vector_bytes = lanes * 4;
  const std::int64_t vectors = ceil_div(conv.group_outputs, lanes);
  const auto pack = [&](long index) {
    const std::int64_t group = index / vectors, vector = index % vectors;
    const std::int64_t tile = vector / plan.config.vectors, within = vector % plan.config.vectors;
    const std::int64_t width = plan.vectors_of(tile) * vector_bytes;
    std::byte* start = packed + group * plan.weight_offset(plan.tiles_of_channels) +
                       plan.weight_offset(tile) + within * vector_bytes;
    const VectorPlace place{
        raw + (group * conv.group_outputs + vector * lanes) * conv.weight_stride[0],
        std::min(lanes, conv.group_outputs - vector * lanes), start, start + width, width};
    plan.dot.kind == DotKind::quads ? pack_vector<std::int8_t>(plan, place)
                                    : pack_vector<std::int16_t>(plan, place);
  };
  for_each_unit(parallel, conv.groups * vectors, pack);
}

std::string packed_byte_weights_format(const BytePlan& plan) {
  const ByteReduction& r = plan.reduction;
  return fmt::format("int8:{}x{}:depth{}:{}:runs{}x{}:groups{}", plan.config.vectors, plan.lanes(),
                     plan.dot.depth(), plan.is_signed() ? "signed" : "unsigned", r.runs, r.lanes,
                     plan.shape.conv.groups);
}

}  // namespace fuseplan::cpu
