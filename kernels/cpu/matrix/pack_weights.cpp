// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/pack_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

/// In elements, what a tap's channels are from the tap: those of the tensor, and, in joined plans,
/// those of the taps beside and below it.
std::vector<std::int64_t> channel_offsets(const MatrixPlan& plan) {
  const auto& stride = plan.source.weight_stride;
  const std::int64_t own = plan.source.group_inputs, row = plan.row_channels();
  std::vector<std::int64_t> offsets;
  for (std::int64_t c = 0; c < plan.shape.conv.group_inputs; ++c)
    offsets.push_back(c % own * stride[1] + c % row / own * stride[4] + c / row * stride[3]);
  return offsets;
}

template <typename Element>
class Packer {
 public:
  Packer(const MatrixPlan& plan, const void* raw, void* packed)
      : plan_(plan),
        raw_(static_cast<const Element*>(raw)),
        packed_(static_cast<Element*>(packed)),
        channels_(channel_offsets(plan)) {}

  void pack(std::int64_t group, std::int64_t vector) const {
    const ConvGeometry& conv = plan_.shape.conv;
    const std::int64_t lanes = plan_.depth / kLane;
    const std::int64_t tile = vector / plan_.grid.channels, within = vector % plan_.grid.channels;
    const std::int64_t step_size = plan_.depth * kTileLanes;
    Element* to = packed_ +
                  (group * plan_.group_vectors() + tile * plan_.grid.channels) *
                      plan_.vector_bytes() / static_cast<std::int64_t>(sizeof(Element)) +
                  within * step_size;
    const Element* from =
        raw_ + (group * conv.group_outputs + vector * kTileLanes) * conv.weight_stride[0];
    const std::int64_t outputs =
        std::min<std::int64_t>(kTileLanes, conv.group_outputs - vector * kTileLanes);
    for (std::int64_t step = 0; step < plan_.steps; ++step)
      for (std::int64_t d = 0; d < conv.filter[0]; ++d)
        for (std::int64_t h = 0; h < conv.filter[1]; ++h)
          for (std::int64_t w = 0; w < conv.filter[2]; ++w) {
            const std::int64_t row = h * plan_.joined_rows;
            const Element* tap = from + d * conv.weight_stride[2] + row * conv.weight_stride[3] +
                                 w * conv.weight_stride[4];
            const std::int64_t channels =
                std::min(conv.group_inputs, (plan_.source.filter[1] - row) * plan_.row_channels());
            for (std::int64_t lane = 0; lane < lanes; ++lane) {
              const std::int64_t channel = step * plan_.depth + lane * kLane;
              pack_lane(tap, channel, std::clamp<std::int64_t>(channels - channel, 0, kLane),
                        outputs, to + lane * kTileLanes * kLane);
            }
            to += plan_.vectors_of(tile) * step_size;
          }
  }

 private:
  static constexpr std::int64_t kLane = 4 / sizeof(Element);

  void pack_lane(const Element* tap, std::int64_t channel, std::int64_t count, std::int64_t outputs,
                 Element* to) const {
    if (count < kLane || outputs < kTileLanes) std::fill_n(to, kLane * kTileLanes, Element{0});
    for (std::int64_t i = 0; i < count; ++i) {
      const Element* from = tap + channels_[static_cast<std::size_t>(channel + i)];
      for (std::int64_t k = 0; k < outputs; ++k)
        to[k * kLane + i] = from[k * plan_.source.weight_stride[0]];
    }
  }

  const MatrixPlan& plan_;
  const Element* raw_;
  Element* packed_;
  std::vector<std::int64_t> channels_;
};

template <typename Element>
void pack_all(const MatrixPlan& plan, const void* raw, void* packed, const Parallel& parallel) {
  const Packer<Element> packer(plan, raw, packed);
  const std::int64_t vectors = plan.group_vectors();
  const long total = plan.shape.conv.groups * vectors;
  const int parts = static_cast<int>(std::min<long>(total, parallel.threads()));
  parallel(parts, [&](int part) {
    const Range range = split(total, parts, part);
    for (long i = range.first; i < range.last; ++i) packer.pack(i / vectors, i % vectors);
  });
}

}  // namespace

std::size_t packed_matrix_weights_size(const MatrixPlan& plan) {
  return static_cast<std::size_t>(plan.shape.conv.groups * plan.group_vectors() *
                                  plan.vector_bytes());
}

void pack_matrix_weights(const MatrixPlan& plan, const void* raw, void* packed,
                         const Parallel& parallel) {
  plan.element() == 1 ? pack_all<std::int8_t>(plan, raw, packed, parallel)
                      : pack_all<std::uint16_t>(plan, raw, packed, parallel);
}

std::string packed_matrix_weights_format(const MatrixPlan& plan) {
  return fmt::format("matrix:{}x{}:steps{}x{}:joined{}:groups{}", plan.grid.channels, kTileLanes,
                     plan.steps, plan.depth, plan.config.joined ? plan.joined_rows : 0,
                     plan.shape.conv.groups);
}

}  // namespace fuseplan::cpu
