// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/stage.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/status.hpp"
#include "kernels/cpu/intrinsics.hpp"

namespace fuseplan::cpu {
namespace {

/// Runs of `length` values, one of each row, as those of `columns` columns that follow one another.
/// Zeros stand for what is not in [begin, end) of a run, and for rows that are none.
struct Runs {
  const float* const* rows;  ///< at the first column's run
  std::int64_t count, length, begin, end, columns;
};

#if defined(__x86_64__)
/// A column's runs one behind the other, `width` values in all. Masked lanes are not read, so runs
/// are loaded from where their vector would begin.
FUSEPLAN_AVX512 void join_runs(const Runs& runs, float* to, std::int64_t width) {
  for (std::int64_t lane = 0; lane < width; lane += 16) {
    struct Part {
      const float* from;
      __mmask16 mask;
    } parts[StemPlan::kMostStride];
    int count = 0;
    for (std::int64_t i = 0; i < runs.count; ++i) {
      const std::int64_t first = i * runs.length - lane;  // of this vector's lanes
      const std::int64_t begin = std::clamp<std::int64_t>(first + runs.begin, 0, 16);
      const std::int64_t end = std::clamp<std::int64_t>(first + runs.end, begin, 16);
      if (runs.rows[i] == nullptr || begin == end) continue;
      parts[count++] = {runs.rows[i] - first, static_cast<__mmask16>((1u << end) - (1u << begin))};
    }
    for (std::int64_t column = 0; column < runs.columns; ++column) {
      __m512 joined = _mm512_setzero_ps();
      for (int i = 0; i < count; ++i)
        joined = _mm512_mask_loadu_ps(joined, parts[i].mask, parts[i].from + column * runs.length);
      _mm512_storeu_ps(to + column * width + lane, joined);
    }
  }
}
#else
void join_runs(const Runs&, float*, std::int64_t) {
  fail(Status::InternalError, "stem convolutions are for AVX-512");
}
#endif

}  // namespace

StemStage::StemStage(const StemPlan& plan, const void* input, Scratch& scratch)
    : plan_(plan),
      view_(plan.shape.conv.input),
      input_(static_cast<const std::byte*>(input)),
      bytes_(static_cast<std::int64_t>(size_of(plan.shape.input))),
      moves_(moves_for(plan.shape.input, Isa::avx512)),
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
    join_runs(
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
  for (std::int64_t channel = 0; channel < plan_.width(); channel += StemPlan::kLanes)
    moves_.turn(lines_ + channel * pitch, pitch, StemPlan::kLanes, columns.count, to + channel,
                plan_.width());
}

}  // namespace fuseplan::cpu
