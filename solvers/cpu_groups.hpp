// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integer.hpp"
#include "kernels/cpu/geometry.hpp"
#include "kernels/cpu/matrix/recipe.hpp"
#include "solve/solver.hpp"

namespace fuseplan {

// Which kernels run small groups, or one of few channels, fastest: those that sum f32 in lanes of
// several groups (cpu_grouped, cpu_depthwise), those whose vectors are outputs of one group
// (cpu_direct, cpu_int8), or tiles of AMX. Parts of the time of lanes of several groups are of one
// image on Intel's cores, of filters of 3x3 where none is named.

/// What decides, of a convolution: channels of a group, and lanes of a vector.
struct GroupWork {
  std::int64_t groups, inputs, outputs, taps, lanes;
  bool channels_last;
  /// Products for each value that is copied to scratch or finished.
  std::int64_t products_per_value() const { return inputs * outputs * taps / (inputs + outputs); }
};
inline GroupWork group_work(const Question& question) {
  const cpu::ConvGeometry g = cpu::geometry_of(question.problem);
  return {.groups = g.groups,
          .inputs = g.group_inputs,
          .outputs = g.group_outputs,
          .taps = g.filter[0] * g.filter[1] * g.filter[2],
          .lanes = cpu::lanes_of(question.traits.isa),
          .channels_last = g.input.stride[1] == 1};
}

/// Whether tiles are faster for groups of bytes that they multiply as one. In NHWC they take 0.1 to
/// 0.75 of the time, but for pairs of inputs with vectors of outputs; in NCHW, where they turn
/// pixels, they are faster if sums are long.
inline bool merging_pays(const GroupWork& work) {
  constexpr std::int64_t kManyChannels = 16, kLongSum = 50;
  if (work.inputs == 1 || (work.inputs == 2 && work.outputs >= work.lanes)) return false;
  return work.channels_last || work.inputs >= kManyChannels || work.inputs * work.taps >= kLongSum;
}

/// Whether tiles are faster for bf16, of which groups leave parts of them idle:
///
///   | channels   | 3x3 NHWC | 3x3 NCHW | 1x1 NHWC | 1x1 NCHW |
///   |------------|----------|----------|----------|----------|
///   | 16 to 16   | 0.4      | 0.5      | 0.3      | 0.8      |
///   | 8 to 16    | 0.4      | 0.7      |          |          |
///   | 8 to 8     | 0.83     | 1.2      | 1.1      | 2.2      |
inline bool idle_tiles_pay(const GroupWork& work) {
  constexpr std::int64_t kFewestInputs = 8, kWholeTile = 16, kProducts = 8, kTurnedProducts = 40;
  if (work.inputs < kFewestInputs) return false;
  if (work.channels_last) return work.products_per_value() >= kProducts;
  return work.taps == 1 ? std::min(work.inputs, work.outputs) >= kWholeTile
                        : work.products_per_value() >= kTurnedProducts;
}

/// Whether cpu_matrix stands before kernels for small groups.
inline bool tiles_pay(const Question& question) {
  if (!may_run(question, "cpu_matrix")) return false;
  const DType input = question.problem.input().dtype;
  const cpu::Extensions& has = question.traits.extensions;
  const GroupWork work = group_work(question);
  const bool pays = is_byte(input) ? has.tiles_int8 && cpu::merged_groups(question.problem) > 1 &&
                                         merging_pays(work)
                                   : input == DType::bf16 && has.tiles_bf16 && idle_tiles_pay(work);
  return pays && !cpu::matrix_refusal(question.problem, question.chain);
}

/// Whether cpu_direct stands before them: if a group's outputs fill its vectors. 16 to 16 channels
/// take 0.94 to 1.0 of the time on AVX-512, at stride 2 0.5 in NHWC and 0.87 in NCHW; 8 to 8 on
/// AVX2 in NCHW 0.95 and 0.7. It does not with few inputs, nor in NCHW without taps or with 16
/// bits, whose planes it turns.
inline bool direct_pays(const Question& question) {
  const GroupWork work = group_work(question);
  if (!may_run(question, "cpu_direct") || work.groups == 1) return false;
  if (work.outputs % work.lanes != 0) return false;
  if (work.channels_last) return 2 * work.inputs >= work.lanes;
  return question.problem.input().dtype == DType::f32 && work.taps > 1 && work.inputs >= work.lanes;
}

/// Whether cpu_int8 stands before them. One of its instructions sums four products in each lane,
/// or, without VNNI, two, but its lanes are outputs of one group, of which there may be few. It is
/// faster if it needs less than half as many instructions: 16 to 16 channels take 0.28 of the time
/// in NHWC and 0.55 in NCHW, 1 to 8 take 2.3, 8 to 8 in NCHW 1.4. In NHWC it is faster, too, where
/// lanes of several groups pick their inputs from several vectors (16 to 4 channels: 0.3) or need
/// more than a few (8 to 8: 0.83, without VNNI 1.7); in NCHW without taps it turns planes that they
/// need not turn (16 to 16: 1.6). It joins the taps of a single group, which the others do not.
/// AVX2 without VNNI was not measured.
inline bool int8_pays(const Question& question) {
  constexpr std::int64_t kFew = 4;
  const GroupWork work = group_work(question);
  if (!may_run(question, "cpu_int8") || (work.inputs <= kFew && work.outputs <= kFew)) return false;
  if (work.groups == 1) return true;
  const bool vnni = question.traits.extensions.has_vnni(question.traits.isa);
  if (!vnni && question.traits.isa == cpu::Isa::avx2) return true;
  const std::int64_t instructions = ceil_div(work.inputs, vnni ? 4 : 2);
  const std::int64_t theirs = 2 * instructions * work.lanes;
  const std::int64_t ours = work.inputs * std::min(work.outputs, work.lanes);
  if (!work.channels_last) return work.taps > 1 && theirs < ours;
  const bool in_order = work.inputs <= work.outputs;
  return !in_order || theirs < ours || (theirs == ours && work.inputs > kFew);
}

/// Of kernels that sum f32 in lanes of several groups.
inline Rank rank_of_f32_sums(const Question& question) {
  const bool bytes = is_byte(question.problem.input().dtype);
  const bool others_pay =
      tiles_pay(question) || (bytes ? int8_pays(question) : direct_pays(question));
  return others_pay ? Rank::behind : Rank::listed;
}

}  // namespace fuseplan
