// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/emit/rows.hpp"

namespace fuseplan::cpu {

/// Lanes of the sums of a row whose lanes belong together: each root has so many floats, which the
/// caller adds up.
inline constexpr std::int64_t kSumLanes = 16;

/// A kernel that evaluates the roots of `rows.body`, which reads no previous output, at every lane
/// of its rows and adds them to sums in memory.
struct SumsSpec {
  RowsSpec rows;  ///< output, touching and streaming do not matter
  /// Each lane has sums of its own, over the rows; otherwise each row has, over its lanes.
  bool per_lane = false;
};

/// `void sums(const RowsCall*)`, where `output` are the sums in f32. Per lane: root r of lane k is
/// [r * output_step + 4 * k] and whole vectors of them may be read and written. Per row: root r of
/// row k is the sum of the kSumLanes floats at [k * output_step + 4 * kSumLanes * r]; rows with an
/// output_step of 0 share their sums. Nothing of the other operands outside the lanes it is told of
/// is read.
std::vector<std::byte> emit_sums(const SumsSpec& spec);

}  // namespace fuseplan::cpu
