// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/pack_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>

#include "base/integer.hpp"
#include "base/memory.hpp"
#include "kernels/cpu/direct/pack_pairs.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {
namespace {

/// One weight of a filter: where it lies behind its output channel's first weight, in elements,
/// and which vector of the packed tile it goes to.
struct Place {
  std::int64_t source, vector;
};

// In the order of memory, so that weights that are neighbours there are neighbours here.
std::span<Place> places_of(const DirectPlan& plan, Scratch& scratch) {
  const ConvGeometry& conv = plan.shape.conv;
  const std::array<std::int64_t, 4> lens{conv.group_inputs, conv.filter[0], conv.filter[1],
                                         conv.filter[2]};
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t axis) {
    return lens[axis] == 1 ? std::int64_t{0} : conv.weight_stride[axis + 1];
  });
  const auto count = static_cast<std::size_t>(conv.group_inputs * plan.shape.taps());
  const std::span<Place> places(scratch.take_array<Place>(count), count);
  std::array<std::int64_t, 4> at{};
  for (Place& place : places) {
    place.vector = packed_index(plan, at);
    place.source = 0;
    for (std::size_t axis = 0; axis < 4; ++axis)
      place.source += at[axis] * conv.weight_stride[axis + 1];
    for (std::size_t i = 4; i-- > 0;) {
      if (++at[order[i]] < lens[order[i]]) break;
      at[order[i]] = 0;
    }
  }
  return places;
}

class VectorPacker {
 public:
  VectorPacker(const DirectPlan& plan, const void* raw, std::span<const Place> places)
      : plan_(plan),
        places_(places),
        raw_(static_cast<const std::byte*>(raw)),
        bytes_(static_cast<std::int64_t>(size_of(plan.shape.weights))),
        moves_(moves_for(plan.shape.weights, plan.isa)) {}

  /// Output channels [channel, channel + count) into the lanes at `output`, whose vectors are
  /// `step` floats apart. The other lanes become zero.
  void pack(std::int64_t channel, std::int64_t count, float* output, std::int64_t step) const {
    const auto lanes = static_cast<std::size_t>(moves_.lanes);
    for (std::size_t e = 0; e < places_.size();) {
      const bool run = e + lanes <= places_.size() &&
                       places_[e + lanes - 1].source == places_[e].source + moves_.lanes - 1;
      if (run) {
        square(e, channel, count, output, step);
        e += lanes;
      } else {
        single(places_[e++], channel, count, output, step);
      }
    }
  }

 private:
  const std::byte* source(std::int64_t channel, const Place& place) const {
    return raw_ + (channel * plan_.shape.conv.weight_stride[0] + place.source) * bytes_;
  }

  void square(std::size_t e, std::int64_t channel, std::int64_t count, float* output,
              std::int64_t step) const {
    alignas(64) static constexpr float kZeros[16] = {};
    alignas(64) float widened[16][16];
    const float* rows[16];
    float* columns[16];
    const std::byte* first = source(channel, places_[e]);
    const std::int64_t filter = plan_.shape.conv.weight_stride[0] * bytes_;
    for (int i = 0; i < moves_.lanes; ++i) {
      columns[i] = output + places_[e + static_cast<std::size_t>(i)].vector * step;
      rows[i] = kZeros;
      if (i >= count) continue;
      const std::byte* row = first + i * filter;
      if (plan_.shape.weights == DType::f32) {
        rows[i] = reinterpret_cast<const float*>(row);
      } else {
        moves_.widen(row, 1, widened[i], moves_.lanes);
        rows[i] = widened[i];
      }
    }
    moves_.transpose(rows, columns);
  }

  void single(const Place& place, std::int64_t channel, std::int64_t count, float* output,
              std::int64_t step) const {
    float* lanes = output + place.vector * step;
    std::fill_n(lanes, moves_.lanes, 0.0F);
    if (count > 0)
      moves_.widen(source(channel, place), plan_.shape.conv.weight_stride[0], lanes,
                   std::min<std::int64_t>(count, moves_.lanes));
  }

  const DirectPlan& plan_;
  std::span<const Place> places_;
  const std::byte* raw_;
  std::int64_t bytes_;
  Moves moves_;
};

/// Weights in f32 whose input channels are neighbours in memory: a square of channels turned at a
/// time, straight to where it goes.
class ChannelPacker {
 public:
  ChannelPacker(const DirectPlan& plan, const void* raw)
      : plan_(plan),
        raw_(static_cast<const float*>(raw)),
        moves_(moves_for(DType::f32, plan.isa)) {}

  static bool takes(const DirectPlan& plan) {
    const ConvGeometry& conv = plan.shape.conv;
    return !plan.config.pairs && plan.shape.weights == DType::f32 && conv.weight_stride[1] == 1 &&
           conv.group_inputs >= plan.lanes() && conv.group_outputs % plan.lanes() == 0;
  }

  /// As VectorPacker's; `count` fills the lanes.
  void pack(std::int64_t channel, float* output, std::int64_t step) const {
    const ConvGeometry& conv = plan_.shape.conv;
    const float* filters = raw_ + channel * conv.weight_stride[0];
    for (std::int64_t plane = 0; plane < conv.filter[0]; ++plane)
      for (std::int64_t row = 0; row < conv.filter[1]; ++row)
        for (std::int64_t tap = 0; tap < conv.filter[2]; ++tap) {
          const float* from = filters + plane * conv.weight_stride[2] +
                              row * conv.weight_stride[3] + tap * conv.weight_stride[4];
          for (std::int64_t first = 0; first < conv.group_inputs; first += plan_.chunk)
            chunk(from + first, std::min(plan_.chunk, conv.group_inputs - first),
                  output + packed_index(plan_, {first, plane, row, tap}) * step,
                  conv.filter[2] * step);
        }
  }

 private:
  void chunk(const float* from, std::int64_t channels, float* to, std::int64_t step) const {
    const std::int64_t lanes = moves_.lanes, filter = plan_.shape.conv.weight_stride[0];
    const std::int64_t whole = channels / lanes * lanes;
    moves_.turn(from, filter, lanes, whole, to, step);
    for (std::int64_t i = whole; i < channels; ++i)
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        to[i * step + lane] = from[lane * filter + i];
  }

  const DirectPlan& plan_;
  const float* raw_;
  Moves moves_;
};

}  // namespace

std::int64_t packed_index(const DirectPlan& plan, const std::array<std::int64_t, 4>& at) {
  const auto& filter = plan.shape.conv.filter;
  const std::int64_t first = at[0] / plan.chunk * plan.chunk;
  const std::int64_t channels = std::min(plan.chunk, plan.depth - first);
  const std::int64_t row = at[1] * filter[1] + at[2];
  return first * plan.shape.taps() + (row * channels + at[0] - first) * filter[2] + at[3];
}

std::size_t packed_weight_bytes(const DirectPlan& plan) {
  return static_cast<std::size_t>(plan.shape.conv.groups *
                                  plan.weight_offset(plan.tiles_of_channels)) *
         sizeof(float);
}

void pack_weights(const DirectPlan& plan, const void* raw, void* packed, const Parallel& parallel) {
  const ConvGeometry& conv = plan.shape.conv;
  Scratch scratch;
  std::optional<PairPacker> pairs;
  std::optional<VectorPacker> floats;
  std::optional<ChannelPacker> channels;
  const std::int64_t lanes = plan.lanes();
  const std::int64_t vectors = ceil_div(conv.group_outputs, lanes);
  if (plan.config.pairs) {
    pairs.emplace(plan, raw, scratch);
  } else if (ChannelPacker::takes(plan)) {
    channels.emplace(plan, raw);
  } else {
    floats.emplace(plan, raw, places_of(plan, scratch));
  }
  const auto pack_vector = [&](long index) {
    const std::int64_t group = index / vectors, vector = index % vectors;
    const std::int64_t tile = vector / plan.config.vectors;
    float* output = static_cast<float*>(packed) +
                    group * plan.weight_offset(plan.tiles_of_channels) + plan.weight_offset(tile) +
                    vector % plan.config.vectors * lanes;
    const std::int64_t first = group * conv.group_outputs + vector * lanes;
    const std::int64_t count = conv.group_outputs - vector * lanes;
    const std::int64_t step = plan.vectors_of(tile) * lanes;
    if (pairs) {
      pairs->pack(first, count, output, step);
    } else if (channels) {
      channels->pack(first, output, step);
    } else {
      floats->pack(first, count, output, step);
    }
  };
  for_each_unit(parallel, conv.groups * vectors, pack_vector);
}

bool packs_in_passing(const DirectPlan& plan) {
  constexpr std::int64_t kMostBytes = 1 << 20;  // of a tile
  constexpr std::size_t kKept = 1 << 20;        // of all, between blocks, by the second-level cache
  const View& output = plan.shape.conv.output;
  const bool one_plane = output.len[0] * output.len[2] * plan.shape.conv.groups == 1;
  const bool one_block = plan.block_strips == plan.tiling.strips.size() &&
                         (!plan.staged || plan.block_rows == output.len[3]);
  const bool pays = plan.block_rows == output.len[3] || packed_weight_bytes(plan) > kKept;
  const std::int64_t bytes = plan.tile_lanes * plan.depth * plan.shape.taps() * std::int64_t{4};
  return one_plane && one_block && pays && bytes <= kMostBytes && ChannelPacker::takes(plan);
}

void pack_channel_tile(const DirectPlan& plan, const void* raw, std::int64_t tile, float* packed) {
  const ChannelPacker packer(plan, raw);
  const std::int64_t vectors = plan.vectors_of(tile), lanes = plan.lanes();
  for (std::int64_t vector = 0; vector < vectors; ++vector)
    packer.pack(tile * plan.tile_lanes + vector * lanes, packed + vector * lanes, vectors * lanes);
}

std::string packed_weight_format(const DirectPlan& plan) {
  return fmt::format("direct:{}x{}:chunk{}:groups{}{}{}", plan.config.vectors, plan.lanes(),
                     plan.chunk, plan.shape.conv.groups, plan.config.pairs ? ":pairs" : "",
                     plan.joined ? ":joined" : "");
}

}  // namespace fuseplan::cpu
