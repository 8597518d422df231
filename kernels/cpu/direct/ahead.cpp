// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/ahead.hpp"

#include <algorithm>

#include "base/integer.hpp"

namespace fuseplan::cpu {

Ahead::Ahead(const DirectPlan& plan, const InputMap& input, const Block& block, std::int64_t unit,
             std::int64_t units) {
  const ConvGeometry& conv = plan.shape.conv;
  const std::vector<Strip>& strips = plan.tiling.strips;
  const bool by_row = block.strips == strips.size();
  const std::size_t axis = by_row ? 1 : 2;
  const std::int64_t bytes =
      conv.input.stride[axis + 2] * static_cast<std::int64_t>(size_of(plan.shape.input));
  const std::int64_t reach = (conv.filter[axis] - 1) * conv.dilation[axis] + 1;
  const std::int64_t stride = conv.stride[axis];
  std::array<std::int64_t, 3> next{block.plane, block.row, block.column}, tap{};
  next[axis] += by_row ? block.rows : block.columns;
  if (!by_row) tap[1] = conv.filter[1] - 1;
  row_step_ = by_row ? stride * bytes : 0;
  const std::int64_t of_row = (by_row ? std::min(stride, reach) : block.columns * stride) * bytes;
  per_chunk_ = of_row / (units * plan.chunks);
  first_ = reinterpret_cast<std::int64_t>(input.at(next, tap, 0)) +
           std::max<std::int64_t>(reach - stride, 0) * bytes + unit * plan.chunks * per_chunk_;
  const auto tiles = static_cast<std::int64_t>(strips[block.strip + block.strips - 1].last -
                                               strips[block.strip].first);
  per_call_ = ceil_div(per_chunk_, tiles);
  const TileSpec& spec = plan.tiling.variants.front();
  const std::int64_t lines = spec.asks_ahead * ceil_div(plan.chunk, channels_of_turn(spec)) *
                             conv.filter[0] * conv.filter[1];
  per_asking_ = std::max(per_call_, std::min(lines * kCacheLine, per_chunk_));
  step_ = ceil_div(per_asking_, lines);
}

NextWeights::NextWeights(const float* weights, std::int64_t bytes)
    : at_(reinterpret_cast<std::int64_t>(weights)), end_(at_ + bytes) {}

void NextWeights::share(const TileSpec& spec, TileCall& call) {
  if (at_ >= end_) return ask_for_nothing(call);
  call.ahead = at_;
  call.ahead_step = kCacheLine;
  at_ += bytes_asked(spec, call);
}

int asks_for_weights(const TileSpec& spec, std::int64_t calls) {
  const std::int64_t bytes = channels_of_turn(spec) * spec.taps * spec.vectors *
                             lanes_of(spec.isa) * std::int64_t{sizeof(float)};
  const std::int64_t lines = ceil_div(ceil_div(bytes, kCacheLine), calls);
  // More would hold up the products, and fill the code.
  constexpr std::int64_t kProductsOfLine = 4;
  const std::int64_t most = channels_of_turn(spec) * tile_products(spec) / kProductsOfLine;
  return static_cast<int>(std::clamp<std::int64_t>(lines, 1, std::max<std::int64_t>(most, 1)));
}

}  // namespace fuseplan::cpu
