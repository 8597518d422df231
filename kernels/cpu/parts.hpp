// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cpu/geometry.hpp"

namespace fuseplan::cpu {

/// Weights up to here stay in a second-level cache of 1 MB or more while a block's tiles of
/// channels go by; more come from behind it for every block.
inline constexpr std::int64_t kKeptWeightBytes = 2 << 20;
/// Above this no second-level cache keeps them, and kernels ask for some while they multiply by
/// others. Of 2.4 MB asking cost what it gained on a core with 2 MB.
inline constexpr std::int64_t kFarWeightBytes = 4 << 20;

/// A few units of work for each part, or they cannot be dealt evenly.
inline constexpr std::int64_t kUnitsPerPart = 4;

/// How many parts are worth a thread each. Waking one costs some microseconds, in which one that is
/// awake does `flops_per_part`.
inline int parts_worth(const ConvGeometry& conv, double flops_per_part, int threads) {
  return static_cast<int>(std::clamp(conv.flops() / flops_per_part, 1.0, double(threads)));
}

/// Where some work ends: in this block, of which so much is done.
struct Place {
  std::int64_t block = 0, done = 0;
};

/// The place where `work` ends, of planes whose blocks are the same: work_of(i) is that of a
/// plane's i-th, per_plane the sum.
template <typename WorkOf>
Place place_of(std::int64_t work, std::int64_t blocks_per_plane, std::int64_t per_plane,
               const WorkOf& work_of) {
  Place place{work / per_plane * blocks_per_plane, work % per_plane};
  for (std::int64_t i = 0; place.done >= work_of(i); ++i, ++place.block) place.done -= work_of(i);
  return place;
}

/// body(unit, first, last) for all that lies between two places: of each block, here a unit, from
/// `first` on and up to `last`, or to its end if that is less.
template <typename F>
void for_each_between(const Place& from, const Place& to, const F& body) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t unit = from.block; unit <= to.block; ++unit) {
    const std::int64_t first = unit == from.block ? from.done : 0;
    const std::int64_t last = unit == to.block ? to.done : kAll;
    if (first < last) body(unit, first, last);
  }
}

}  // namespace fuseplan::cpu
