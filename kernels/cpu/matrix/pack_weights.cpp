// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/pack_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "base/integer.hpp"
#include "kernels/cpu/matrix/pieces.hpp"
#include "kernels/cpu/moves.hpp"

namespace fuseplan::cpu {
namespace {

/// In joined plans those of the taps beside and below it, too.
TapChannels channels_of(const MatrixPlan& plan) {
  const auto& stride = plan.source.weight_stride;
  const std::int64_t own = plan.source.group_inputs, taps = plan.row_channels() / own;
  TapChannels channels;
  channels.offsets.reserve(static_cast<std::size_t>(plan.shape.conv.group_inputs));
  for (std::int64_t h = 0; h < plan.joined_rows; ++h)
    for (std::int64_t w = 0; w < taps; ++w)
      for (std::int64_t c = 0; c < own; ++c)
        channels.offsets.push_back(c * stride[1] + w * stride[4] + h * stride[3]);
  for (std::size_t i = 1; i < channels.offsets.size(); ++i)
    channels.together &= channels.offsets[i] == channels.offsets[i - 1] + 1;
  return channels;
}

/// A tap's weights of up to a vector of outputs and a step of channels, from `first` on.
template <typename Element>
struct TapBlock {
  const Element* tap;
  std::int64_t output_step;
  const std::int64_t* channels;  ///< where the step's channels are, from the tap
  std::int64_t count, outputs;
  bool together;             ///< the channels, in this order
  std::int64_t skipped = 0;  ///< the first channels: zeros
};

constexpr std::int64_t kMostDepth = kTileBytes;
constexpr auto kInOrder = [] {
  std::array<std::int64_t, kMostDepth> channels{};
  for (std::size_t i = 0; i < channels.size(); ++i) channels[i] = static_cast<std::int64_t>(i);
  return channels;
}();

/// The same block of merged groups, channels `first` and on: its outputs, `output` and on, have
/// weights for the channels of their own groups, and zeros for the others'.
template <typename Element>
class MergedBlock {
 public:
  MergedBlock(const MatrixPlan& plan, const TapBlock<Element>& block, std::int64_t output,
              std::int64_t first)
      : block_{weights_,      kMostDepth, kInOrder.data(), block.count,
               block.outputs, true,       block.skipped} {
    const std::int64_t channels = plan.source.group_inputs;
    const std::int64_t inputs = channels / plan.merged;
    const std::int64_t outputs = plan.shape.conv.group_outputs / plan.merged;
    for (std::int64_t k = 0; k < block.outputs; ++k)
      for (std::int64_t i = 0; i < block.count; ++i) {
        const std::int64_t group = (first + i) % channels / inputs;
        if (group == (output + k) / outputs)
          weights_[k * kMostDepth + i] = block.tap[k * block.output_step + block.channels[i] -
                                                   group * inputs * plan.source.weight_stride[1]];
      }
  }
  MergedBlock(const MergedBlock&) = delete;
  const TapBlock<Element>& block() const { return block_; }

 private:
  Element weights_[kTileLanes * kMostDepth] = {};
  TapBlock<Element> block_;
};

/// Weights that tiles hold as they are.
template <typename Element>
class Plain {
 public:
  explicit Plain(const MatrixPlan& plan)
      : lanes_(plan.depth / kLane), by_plane_(plan.config.by_plane) {}

  void operator()(const TapBlock<Element>& block, std::byte* to) const {
    auto* lane = reinterpret_cast<Element*>(to);
    if (by_plane_) return pack_rows(block, lane);
    for (std::int64_t i = 0; i < lanes_; ++i, lane += kLane * kTileLanes)
      pack_lane(block, i * kLane, lane);
  }

 private:
  static constexpr std::int64_t kLane = 4 / sizeof(Element);

  void pack_rows(const TapBlock<Element>& block, Element* to) const {
    const std::int64_t depth = lanes_ * kLane;
    std::fill_n(to, depth * kTileLanes, Element{0});
    for (std::int64_t k = 0; k < block.outputs; ++k)
      for (std::int64_t i = 0; i < block.count; ++i)
        to[k * depth + i] = block.tap[k * block.output_step + block.channels[i]];
  }

  void pack_lane(const TapBlock<Element>& block, std::int64_t channel, Element* to) const {
    const std::int64_t count = std::clamp<std::int64_t>(block.count - channel, 0, kLane);
    const std::int64_t first = std::clamp<std::int64_t>(block.skipped - channel, 0, kLane);
    if (first > 0 || count < kLane || block.outputs < kTileLanes)
      std::fill_n(to, kLane * kTileLanes, Element{0});
    for (std::int64_t i = first; i < count; ++i) {
      const Element* from = block.tap + block.channels[channel + i];
      for (std::int64_t k = 0; k < block.outputs; ++k)
        to[k * kLane + i] = from[k * block.output_step];
    }
  }

  std::int64_t lanes_;
  bool by_plane_;
};

/// Weights that tiles hold in pieces.
template <typename Element>
class Split {
 public:
  explicit Split(const MatrixPlan& plan)
      : product_(plan.product),
        by_plane_(plan.config.by_plane),
        widen_(moves_for(traits_of(product_).weights, Isa::avx512).widen) {}

  void operator()(const TapBlock<Element>& block, std::byte* to) const {
    const bool together = block.together && block.count == kPieceChannels;
    const Element* first = block.tap + (block.count > 0 ? block.channels[0] : 0);
    if constexpr (std::is_same_v<Element, float>)
      if (together && block.outputs == kTileLanes)
        return split_weights(product_, first, block.output_step, by_plane_, to);
    float values[kTileLanes][kPieceChannels] = {};
    for (std::int64_t k = 0; k < block.outputs; ++k, first += block.output_step)
      for (std::int64_t i = 0; i < (together ? 1 : block.count); ++i)
        widen_(first + (block.channels[i] - block.channels[0]), 1, values[k] + i,
               together ? kPieceChannels : 1);
    split_weights(product_, values[0], kPieceChannels, by_plane_, to);
  }

 private:
  Product product_;
  bool by_plane_;
  void (*widen_)(const void*, std::int64_t, float*, std::int64_t);
};

/// Packs the vectors [first, last) of a tile of channels to where the tile's packed weights begin.
template <typename Element, typename Write>
void pack_vectors(const MatrixPlan& plan, const TapChannels& channels, const void* raw,
                  std::int64_t group, std::int64_t tile, const Range& vectors, std::byte* packed) {
  const ConvGeometry& conv = plan.shape.conv;
  const Write write(plan);
  const std::int64_t taps = plan.shape.taps();
  const bool steps_inner = plan.source.weight_stride[1] == 1;
  const std::int64_t step_bytes =
      plan.vector_bytes() / static_cast<std::int64_t>(plan.reads.size());
  for (std::int64_t within = vectors.first; within < vectors.last; ++within) {
    const std::int64_t output = (tile * plan.grid.channels + within) * kTileLanes;
    const Element* from = static_cast<const Element*>(raw) +
                          (group * conv.group_outputs + output) * conv.weight_stride[0];
    const std::int64_t outputs = std::min<std::int64_t>(kTileLanes, conv.group_outputs - output);
    // In the order in which weights lie in memory.
    for (std::int64_t i = 0; i < plan.steps * taps; ++i) {
      const std::int64_t step = steps_inner ? i % plan.steps : i / taps;
      Digits tap(steps_inner ? i / plan.steps : i % taps);
      const std::int64_t number = tap.rest(), first = plan.first_channel(step);
      const std::int64_t w = tap.take(conv.filter[2]);
      const std::int64_t row = tap.take(conv.filter[1]) * plan.joined_rows;
      const std::int64_t count =
          std::min(conv.group_inputs, (plan.source.filter[1] - row) * plan.row_channels());
      const TapBlock<Element> block{from + tap.rest() * conv.weight_stride[2] +
                                        row * conv.weight_stride[3] + w * conv.weight_stride[4],
                                    plan.source.weight_stride[0],
                                    channels.offsets.data() + first,
                                    std::clamp<std::int64_t>(count - first, 0, plan.depth),
                                    outputs,
                                    channels.together,
                                    step + 1 == plan.steps ? plan.repeated : 0};
      std::byte* to =
          packed + ((step * taps + number) * plan.vectors_of(tile) + within) * step_bytes;
      plan.merged == 1 ? write(block, to)
                       : write(MergedBlock<Element>(plan, block, output, first).block(), to);
    }
  }
}

auto* pack_function(const ProductTraits& product) {
  if (product.input == DType::f32) return pack_vectors<float, Split<float>>;
  if (product.input == DType::f16) return pack_vectors<std::uint16_t, Split<std::uint16_t>>;
  return product.element == 1 ? pack_vectors<std::int8_t, Plain<std::int8_t>>
                              : pack_vectors<std::uint16_t, Plain<std::uint16_t>>;
}

}  // namespace

MatrixPacker::MatrixPacker(const MatrixPlan& plan)
    : plan_(plan), channels_(channels_of(plan)), pack_(pack_function(traits_of(plan.product))) {}

std::size_t MatrixPacker::size() const {
  return static_cast<std::size_t>(plan_.shape.conv.groups * plan_.group_vectors() *
                                  plan_.vector_bytes());
}

void MatrixPacker::pack(const void* raw, void* packed, const Parallel& parallel) const {
  const std::int64_t vectors = plan_.group_vectors();
  for_each_unit(parallel, plan_.shape.conv.groups * vectors, [&](std::int64_t i) {
    const std::int64_t group = i / vectors, tile = i % vectors / plan_.grid.channels;
    const std::int64_t first = tile * plan_.grid.channels, within = i % vectors - first;
    pack_(plan_, channels_, raw, group, tile, {within, within + 1},
          static_cast<std::byte*>(packed) + (group * vectors + first) * plan_.vector_bytes());
  });
}

void MatrixPacker::pack_tile(const void* raw, std::int64_t group, std::int64_t tile,
                             std::byte* packed) const {
  pack_(plan_, channels_, raw, group, tile, {0, plan_.vectors_of(tile)}, packed);
}

std::string packed_matrix_weights_format(const MatrixPlan& plan) {
  return fmt::format(
      "matrix{}:{}x{}:steps{}x{}x{}{}:joined{}:groups{}x{}", plan.config.by_plane ? "_planes" : "",
      plan.grid.channels, kTileLanes, plan.steps, plan.depth, traits_of(plan.product).pieces,
      plan.repeated > 0 ? "_repeating" : "", plan.config.joined ? plan.joined_rows : 0,
      plan.shape.conv.groups, plan.merged);
}

}  // namespace fuseplan::cpu
