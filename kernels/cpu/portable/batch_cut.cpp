// SPDX-License-Identifier: MIT
#include "kernels/cpu/portable/batch_cut.hpp"

#include <algorithm>
#include <numeric>

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kBlock = ChainInterpreter<float>::kBlock;
constexpr std::int64_t kChunkElements = 1 << 16;  ///< least work that is worth another task
constexpr std::int64_t kTasks = 64;               ///< enough for all threads

}  // namespace

BatchCut::BatchCut(const View& data, const View& statistics)
    : data_(data), statistics_(statistics) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto step = [&](std::size_t axis) {
    return data.len[axis] == 1 ? INT64_MAX : data.stride[axis];
  };
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return step(a) > step(b); });
  extent_.fill(1);
  extent_[order_[4]] = std::min(data.len[order_[4]], kBlock);
  extent_[order_[3]] = std::min(data.len[order_[3]], kBlock / extent_[order_[4]]);
  std::int64_t elements = 1;
  for (std::size_t axis = 0; axis < 5; ++axis) {
    blocks_[axis] = (data.len[axis] + extent_[axis] - 1) / extent_[axis];
    (keeps(axis) ? kept_blocks_ : summed_blocks_) *= blocks_[axis];
    groups_ *= statistics.len[axis];
    elements *= data.len[axis];
  }
  const std::int64_t most =
      std::min({elements / kChunkElements, kTasks / kept_blocks_, summed_blocks_});
  chunks_ = static_cast<int>(std::max<std::int64_t>(most, 1));
}

BlockPlace BatchCut::place_of(std::int64_t kept, std::int64_t summed) const {
  BlockPlace place;
  place.row_axis = order_[3];
  place.lane_axis = order_[4];
  for (std::size_t i = 5; i-- > 0;) {
    const std::size_t axis = order_[i];
    std::int64_t& number = keeps(axis) ? kept : summed;
    place.index[axis] = number % blocks_[axis] * extent_[axis];
    number /= blocks_[axis];
  }
  const auto left = [&](std::size_t axis) {
    return static_cast<int>(std::min(extent_[axis], data_.len[axis] - place.index[axis]));
  };
  place.shape = {left(place.row_axis), left(place.lane_axis), left(place.lane_axis)};
  return place;
}

BatchCut::Slots BatchCut::slots_of(const BlockPlace& place) const {
  const int lanes = keeps(place.lane_axis) ? place.shape.lanes : 1;
  const int rows = keeps(place.row_axis) ? place.shape.rows : 1;
  return {rows * lanes, keeps(place.row_axis) ? lanes : 0, keeps(place.lane_axis) ? 1 : 0};
}

std::int64_t BatchCut::group_of(int task, int slot) const {
  BlockPlace place = place_of(task % kept_blocks_, 0);
  const Slots slots = slots_of(place);
  const int lanes = slots.row > 0 ? slots.row : slots.count;
  if (slots.row > 0) place.index[place.row_axis] += slot / lanes;
  if (slots.lane > 0) place.index[place.lane_axis] += slot % lanes;
  for (std::size_t axis = 0; axis < 5; ++axis)
    if (!keeps(axis)) place.index[axis] = 0;
  return offset_in(statistics_, place.index);
}

}  // namespace fuseplan::cpu
