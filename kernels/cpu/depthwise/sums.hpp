// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/depthwise/plan.hpp"

namespace fuseplan::cpu {

/// One row of filter taps that falls inside the image, and its weights.
struct DepthwiseTaps {
  const void* x;
  const float* w;
};

/// What a sums kernel reads. It writes f32 sums over all taps to `sums`.
struct SumsCall {
  const DepthwiseTaps* taps = nullptr;
  std::int64_t tap_count = 0;
  float* sums = nullptr;
  std::int64_t channels = 1;  ///< how many, one after another, and
  std::int64_t x_step = 0;    ///< bytes from one channel's rows to the next's
};

/// `rows` output rows of each channel. x points at the row that the first output
/// row of the first channel reads, w at that channel's weight of tap column 0; sums are
/// [row][column], plan.sums_pitch from channel to channel, and up to a vector behind the last one
/// is overwritten.
std::vector<std::byte> emit_pixel_sums(const DepthwisePlan& plan, int rows);

}  // namespace fuseplan::cpu
