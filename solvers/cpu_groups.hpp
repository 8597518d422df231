// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integer.hpp"
#include "kernels/cpu/geometry.hpp"
#include "kernels/cpu/matrix/recipe.hpp"
#include "solve/solver.hpp"

namespace fuseplan {

// Which kernels run small groups fastest: those that sum f32 in lanes of several groups
// (cpu_grouped, cpu_depthwise), those whose vectors are outputs of one group (cpu_direct,
// cpu_int8), or tiles of AMX. Times are of one image on Intel's cores, 3x3 where no filter is
// named.

/// What decides, of a convolution with groups.
struct GroupWork {
  explicit GroupWork(const Question& question)
      : GroupWork(cpu::geometry_of(question.problem),
                  static_cast<std::int64_t>(cpu::lanes_of(question.traits.isa))) {}
  std::int64_t inputs, outputs, taps, lanes;
  bool channels_last;
  /// Outputs of a group fill whole vectors.
  bool fills_vectors() const { return outputs % lanes == 0; }
  /// Products for each value that is copied to scratch or finished.
  std::int64_t products_per_value() const { return inputs * outputs * taps / (inputs + outputs); }

 private:
  GroupWork(const cpu::ConvGeometry& g, std::int64_t vector)
      : inputs(g.group_inputs),
        outputs(g.group_outputs),
        taps(g.filter[0] * g.filter[1] * g.filter[2]),
        lanes(vector),
        channels_last(g.input.stride[1] == 1) {}
};

/// Several groups of bytes that tiles multiply as one take 0.75 to 0.1 of the time in NHWC; in
/// NCHW, where pixels are turned, they gain if sums are long.
inline bool merging_pays(const GroupWork& work) {
  constexpr std::int64_t kManyChannels = 16, kLongSum = 50;
  const bool is_long = work.inputs >= kManyChannels || work.inputs * work.taps >= kLongSum;
  return work.inputs > 1 && (work.channels_last || is_long);
}

/// Groups of bf16 that leave parts of tiles idle: 16 to 16 channels take 0.4 of the time in NHWC
/// and 0.5 in NCHW, by 1x1 0.3 and 0.8, 8 to 8 0.83 and 1.2, by 1x1 1.1 and 2.2.
inline bool idle_tiles_pay(const GroupWork& work) {
  constexpr std::int64_t kFewestInputs = 8, kWholeTile = 16, kProducts = 8, kTurnedProducts = 40;
  if (work.inputs < kFewestInputs) return false;
  if (work.channels_last) return work.products_per_value() >= kProducts;
  return work.taps == 1 ? std::min(work.inputs, work.outputs) >= kWholeTile
                        : work.products_per_value() >= kTurnedProducts;
}

/// Whether cpu_matrix stands before kernels for small groups.
inline bool tiles_pay_for_groups(const Question& question) {
  const DType input = question.problem.input().dtype;
  const cpu::Extensions& has = question.traits.extensions;
  const GroupWork work(question);
  const bool pays = is_byte(input) ? has.tiles_int8 && cpu::merged_groups(question.problem) > 1 &&
                                         merging_pays(work)
                                   : input == DType::bf16 && has.tiles_bf16 && idle_tiles_pay(work);
  return pays && !cpu::matrix_refusal(question.problem, question.chain);
}

/// Groups whose outputs fill vectors of cpu_direct: 16 to 16 channels take 0.94 to 1.0 of the time
/// on AVX-512, at stride 2 0.5 in NHWC and 0.87 in NCHW, 8 to 8 on AVX2 in NCHW 0.95 and 0.7. With
/// few inputs, or without taps in NCHW, or turned from 16 bits, lanes of several groups keep up.
inline bool direct_pays_for_groups(const Question& question) {
  const GroupWork work(question);
  if (question.problem.conv()->conv.groups == 1 || !work.fills_vectors()) return false;
  if (work.channels_last) return 2 * work.inputs >= work.lanes;
  return question.problem.input().dtype == DType::f32 && work.taps > 1 && work.inputs >= work.lanes;
}

/// cpu_int8 sums four products of bytes in a lane. Where its vectors have so few of a group that it
/// needs half as many instructions, or more, products of f32 are faster, if their vectors take
/// inputs in order: 1 to 8 channels a group take 0.44 of the time on AVX-512, 8 to 8 in NCHW 0.7,
/// but 8 to 8 in NHWC 1.2 and 16 to 4 3.4. Without taps planes need not be turned: 16 to 16 by 1x1
/// take 0.6. The taps of a single group it joins.
inline bool int8_pays_for_groups(const Question& question) {
  constexpr std::int64_t kFew = 4;
  const GroupWork work(question);
  if (work.inputs <= kFew && work.outputs <= kFew) return false;
  if (question.problem.conv()->conv.groups == 1) return true;
  const std::int64_t theirs = 2 * ceil_div(work.inputs, 4) * work.lanes;
  const std::int64_t ours = work.inputs * std::min(work.outputs, work.lanes);
  if (!work.channels_last) return work.taps > 1 && theirs < ours;
  const bool in_order = work.inputs <= work.outputs;
  return !in_order || theirs < ours || (theirs == ours && work.inputs > kFew);
}

/// Of kernels that sum f32 in lanes of several groups.
inline Rank rank_of_f32_sums(const Question& question) {
  const bool bytes = is_byte(question.problem.input().dtype);
  const bool others_pay =
      tiles_pay_for_groups(question) ||
      (bytes ? int8_pays_for_groups(question) : direct_pays_for_groups(question));
  return others_pay ? Rank::behind : Rank::listed;
}

}  // namespace fuseplan
