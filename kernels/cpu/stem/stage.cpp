// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/stage.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/status.hpp"
#include "kernels/cpu/intrinsics.hpp"

namespace fuseplan::cpu {
namespace {

using Runs = StemStage::Runs;
using JoinRuns = StemStage::JoinRuns;

#if defined(__x86_64__)
/// What of a vector's lanes is a run's, read from where the vector would begin.
struct Part {
  const float* from;
  std::int64_t begin, end;
};

/// Those of the vector of `lanes` values from `lane` on.
int parts_of(const Runs& runs, std::int64_t lane, std::int64_t lanes, Part* parts) {
  int count = 0;
  for (std::int64_t i = 0; i < runs.count; ++i) {
    const std::int64_t first = i * runs.length - lane;
    const std::int64_t begin = std::clamp<std::int64_t>(first + runs.begin, 0, lanes);
    const std::int64_t end = std::clamp<std::int64_t>(first + runs.end, begin, lanes);
    if (runs.rows[i] != nullptr && begin < end) parts[count++] = {runs.rows[i] - first, begin, end};
  }
  return count;
}

// Masked lanes are not read.
FUSEPLAN_AVX2 void join_runs_avx2(const Runs& runs, float* to, std::int64_t width) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (std::int64_t lane = 0; lane < width; lane += 8) {
    Part parts[StemPlan::kMostStride];
    __m256i masks[StemPlan::kMostStride];
    const int count = parts_of(runs, lane, 8, parts);
    for (int i = 0; i < count; ++i) {
      const __m256i begin = _mm256_set1_epi32(static_cast<int>(parts[i].begin));
      const __m256i end = _mm256_set1_epi32(static_cast<int>(parts[i].end));
      masks[i] =
          _mm256_andnot_si256(_mm256_cmpgt_epi32(begin, lanes), _mm256_cmpgt_epi32(end, lanes));
    }
    for (std::int64_t column = 0; column < runs.columns; ++column) {
      __m256 joined = _mm256_setzero_ps();
      for (int i = 0; i < count; ++i)
        joined = _mm256_or_ps(joined,
                              _mm256_maskload_ps(parts[i].from + column * runs.length, masks[i]));
      _mm256_storeu_ps(to + column * width + lane, joined);
    }
  }
}

FUSEPLAN_AVX512 void join_runs_avx512(const Runs& runs, float* to, std::int64_t width) {
  for (std::int64_t lane = 0; lane < width; lane += 16) {
    Part parts[StemPlan::kMostStride];
    __mmask16 masks[StemPlan::kMostStride];
    const int count = parts_of(runs, lane, 16, parts);
    for (int i = 0; i < count; ++i)
      masks[i] = static_cast<__mmask16>((1u << parts[i].end) - (1u << parts[i].begin));
    for (std::int64_t column = 0; column < runs.columns; ++column) {
      __m512 joined = _mm512_setzero_ps();
      for (int i = 0; i < count; ++i)
        joined = _mm512_mask_loadu_ps(joined, masks[i], parts[i].from + column * runs.length);
      _mm512_storeu_ps(to + column * width + lane, joined);
    }
  }
}
#endif

JoinRuns join_runs_for(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return join_runs_avx512;
  if (isa == Isa::avx2) return join_runs_avx2;
#endif
  fail(Status::InternalError, "stem convolutions are for AVX2 and AVX-512, not {}", name_of(isa));
}

}  // namespace

StemStage::StemStage(const StemPlan& plan, const void* input, Scratch& scratch)
    : plan_(plan),
      view_(plan.shape.conv.input),
      input_(static_cast<const std::byte*>(input)),
      bytes_(static_cast<std::int64_t>(size_of(plan.shape.input))),
      moves_(moves_for(plan.shape.input, plan.isa)),
      join_runs_(join_runs_for(plan.isa)),
      by_pixel_(view_.stride[1] == 1 && view_.stride[4] == plan.inputs() &&
                plan.shape.input == DType::f32) {
  const std::int64_t row = plan.staged_columns() * plan.width();
  staged_ = scratch.take_array<float>(static_cast<std::size_t>(plan.rows->inputs() * row));
  if (!by_pixel_) lines_ = scratch.take_array<float>(static_cast<std::size_t>(row));
}

void StemStage::run(const StemSegment& segment) {
  const std::int64_t row = segment.row * plan_.rows->outputs;
  const Columns columns{segment.column * plan_.columns->outputs,
                        segment.tiles * plan_.columns->outputs + plan_.columns->taps - 1};
  float* to = staged_;
  for (std::int64_t i = 0; i < plan_.rows->inputs();
       ++i, to += plan_.staged_columns() * plan_.width())
    by_pixel_ ? stage_pixels(segment.image, row + i, columns, to)
              : stage_lines(segment.image, row + i, columns, to);
}

/// The input's row; nullptr on padding.
const std::byte* StemStage::row_of(std::int64_t image, std::int64_t row) const {
  if (row < 0 || row >= view_.len[3]) return nullptr;
  return input_ + (image * view_.stride[0] + row * view_.stride[3]) * bytes_;
}

void StemStage::stage_pixels(std::int64_t image, std::int64_t row, const Columns& columns,
                             float* to) {
  const Phases& phases = plan_.column_phases;
  const std::int64_t run = phases.count * plan_.inputs();
  const std::int64_t length = view_.len[4] * plan_.inputs();
  // Columns whose runs lie inside the image are joined together, those at its ends one by one.
  const std::int64_t inside = std::clamp(ceil_div(phases.padding, phases.count) - columns.first,
                                         std::int64_t{0}, columns.count);
  const std::int64_t behind = std::clamp(
      (view_.len[4] + phases.padding) / phases.count - columns.first, inside, columns.count);
  for (std::int64_t i = 0; i < columns.count;) {
    const std::int64_t count = i == inside && behind > inside ? behind - inside : 1;
    const std::int64_t at = phases.input(0, columns.first + i) * plan_.inputs();
    const float* rows[StemPlan::kMostStride];
    for (std::int64_t phase = 0; phase < plan_.row_phases.count; ++phase) {
      const auto* from =
          reinterpret_cast<const float*>(row_of(image, plan_.row_phases.input(phase, row)));
      rows[phase] = from == nullptr ? nullptr : from + at;
    }
    const std::int64_t begin = std::clamp(-at, std::int64_t{0}, run);
    join_runs_(
        {rows, plan_.row_phases.count, run, begin, std::clamp(length - at, begin, run), count},
        to + i * plan_.width(), plan_.width());
    i += count;
  }
}

void StemStage::stage_lines(std::int64_t image, std::int64_t row, const Columns& columns,
                            float* to) {
  const std::int64_t pitch = plan_.staged_columns();
  const Phases& phases = plan_.column_phases;
  float* line = lines_;
  for (std::int64_t row_phase = 0; row_phase < plan_.row_phases.count; ++row_phase) {
    const std::byte* from = row_of(image, plan_.row_phases.input(row_phase, row));
    for (std::int64_t phase = 0; phase < phases.count; ++phase) {
      // Columns of the phase from `position` of the input on, counted from the first.
      const auto columns_at = [&](std::int64_t position) {
        const std::int64_t padded = std::max<std::int64_t>(0, position + phases.padding - phase);
        return ceil_div(padded, phases.count) - columns.first;
      };
      const std::int64_t begin = from == nullptr
                                     ? columns.count
                                     : std::clamp(columns_at(0), std::int64_t{0}, columns.count);
      const std::int64_t end = std::clamp(columns_at(view_.len[4]), begin, columns.count);
      const std::int64_t first = phases.input(phase, columns.first + begin);
      for (std::int64_t channel = 0; channel < plan_.inputs(); ++channel, line += pitch) {
        std::fill_n(line, begin, 0.0F);
        if (begin < end)
          moves_.widen(from + (channel * view_.stride[1] + first * view_.stride[4]) * bytes_,
                       phases.count * view_.stride[4], line + begin, end - begin);
        std::fill(line + end, line + pitch, 0.0F);
      }
    }
  }
  std::fill(line, lines_ + plan_.width() * pitch, 0.0F);
  for (std::int64_t channel = 0; channel < plan_.width(); channel += plan_.lanes())
    moves_.turn(lines_ + channel * pitch, pitch, plan_.lanes(), columns.count, to + channel,
                plan_.width());
}

}  // namespace fuseplan::cpu
