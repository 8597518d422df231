// SPDX-License-Identifier: MIT
#include "plan/overlap.hpp"

#include <algorithm>
#include <numeric>

namespace fuseplan {
namespace {

constexpr int kPlanSteps = 1 << 20, kExecutionSteps = 1 << 12;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Walks along axes, each by a number of strides within its bounds, in search of a place: from the
// largest stride to the smallest, where the numbers that can still lead there are few.
class Walk {
 public:
  explicit Walk(int steps) : steps_(steps) {}

  /// Axes of one stride are one axis.
  void add(std::int64_t stride, std::int64_t least, std::int64_t most) {
    const auto at = std::ranges::lower_bound(axes_, stride, {}, &Axis::stride);
    if (at == axes_.end() || at->stride != stride) {
      axes_.insert(at, {stride, least, most});
      return;
    }
    at->least += least;
    at->most += most;
  }

  /// Whether a walk from 0 can end within [low, high], or nobody knows after so many steps.
  bool may_reach(std::int64_t low, std::int64_t high) {
    std::int64_t least = 0, most = 0;
    for (Axis& axis : axes_) {
      axis.inner_least = least;
      axis.inner_most = most;
      least += axis.least * axis.stride;
      most += axis.most * axis.stride;
    }
    return low <= most && high >= least && search(axes_.size(), low, high);
  }

 private:
  struct Axis {
    std::int64_t stride, least, most;
    std::int64_t inner_least = 0, inner_most = 0;  // where axes of smaller strides can lead
  };

  // Where the axes from one on lead is a multiple of what divides all their strides; the axes of
  // smaller strides must go the rest. Rows of planes and pixels of channels that interleave are
  // told apart by this alone, where a search would try them all.
  bool is_divisible(std::size_t count, std::int64_t low, std::int64_t high) const {
    std::int64_t divisor = 0;
    for (std::size_t inner = count; inner-- > 0;) {
      const Axis& axis = axes_[inner];
      divisor = std::gcd(divisor, axis.stride);
      if (floor_div(high - axis.inner_least, divisor) * divisor < low - axis.inner_most)
        return false;
    }
    return true;
  }

  // With the first `count` axes.
  bool search(std::size_t count, std::int64_t low, std::int64_t high) {
    if (--steps_ < 0) return true;
    if (count == 0) return low <= 0 && 0 <= high;
    if (!is_divisible(count, low, high)) return false;
    const Axis& axis = axes_[count - 1];
    const std::int64_t first = std::max(axis.least, -floor_div(axis.inner_most - low, axis.stride));
    const std::int64_t last = std::min(axis.most, floor_div(high - axis.inner_least, axis.stride));
    for (std::int64_t number = first; number <= last; ++number)
      if (search(count - 1, low - number * axis.stride, high - number * axis.stride)) return true;
    return false;
  }

  StaticVector<Axis, 2 * kMaxRank> axes_;
  int steps_;
};

}  // namespace

bool may_overlap(const Tensor& tensor) {
  StaticVector<int, kMaxRank> order;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (tensor.lens[axis] > 1) order.push_back(axis);
  std::ranges::stable_sort(order, {}, [&](int axis) { return tensor.strides[axis]; });
  std::int64_t inside = 0;  // offset of the last element of the axes so far
  for (std::size_t outer = 0; outer < order.size(); ++outer) {
    const std::int64_t last = tensor.lens[order[outer]] - 1, stride = tensor.strides[order[outer]];
    // Two elements that differ along this axis, and else along those of smaller strides only.
    if (stride <= inside) {
      Walk walk(kPlanSteps);
      walk.add(stride, 1, last);
      for (std::size_t i = 0; i < outer; ++i) {
        const std::int64_t most = tensor.lens[order[i]] - 1;
        walk.add(tensor.strides[order[i]], -most, most);
      }
      if (walk.may_reach(0, 0)) return true;
    }
    inside += last * stride;
  }
  return false;
}

bool may_overlap(const Tensor& a, const Tensor& b, std::int64_t distance) {
  const auto a_bytes = static_cast<std::int64_t>(a.bytes());
  const auto b_bytes = static_cast<std::int64_t>(b.bytes());
  if (distance >= a_bytes || distance <= -b_bytes) return false;
  constexpr std::int64_t kMemory = std::int64_t{1} << 60;  // no sum of strides overflows
  if (a_bytes > kMemory || b_bytes > kMemory) return true;
  const auto a_size = static_cast<std::int64_t>(size_of(a.dtype));
  const auto b_size = static_cast<std::int64_t>(size_of(b.dtype));
  Walk walk(kExecutionSteps);
  for (int axis = 0; axis < a.rank(); ++axis)
    if (a.lens[axis] > 1) walk.add(a.strides[axis] * a_size, 0, a.lens[axis] - 1);
  for (int axis = 0; axis < b.rank(); ++axis)
    if (b.lens[axis] > 1) walk.add(b.strides[axis] * b_size, 1 - b.lens[axis], 0);
  return walk.may_reach(distance - a_size + 1, distance + b_size - 1);
}

}  // namespace fuseplan
