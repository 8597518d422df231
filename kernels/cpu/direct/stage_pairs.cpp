// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/stage_pairs.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/intrinsics.hpp"

namespace fuseplan::cpu {
namespace {

using Half = std::uint16_t;

std::uint32_t pair(Half even, Half odd) {
  return static_cast<std::uint32_t>(odd) << 16 | static_cast<std::uint32_t>(even);
}

void pair_plain(const Half* even, const Half* odd, std::int64_t stride, std::uint32_t* output,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    output[i] = pair(even[i * stride], odd != nullptr ? odd[i * stride] : Half{0});
}

void interleave_plain(const Half* input, std::int64_t channel_step, std::int64_t column_step,
                      std::int64_t channels, Half* output, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t channel = 0; channel < channels; ++channel)
      output[column * channels + channel] = input[column * column_step + channel * channel_step];
}

#if defined(__x86_64__)
__mmask32 first_halves(std::int64_t count) {
  return count >= 32 ? 0xffffffffu : count <= 0 ? 0u : (1u << count) - 1;
}

/// 16 elements `stride` (1 or 2) apart, zero-extended; `left` of them exist.
FUSEPLAN_AVX512 __m512i load_wide(const Half* input, std::int64_t stride, std::int64_t left) {
  if (stride == 1)
    return _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(static_cast<__mmask16>(first_halves(left)), input));
  const __m512i both = _mm512_maskz_loadu_epi16(first_halves(2 * left - 1), input);
  return _mm512_and_si512(both, _mm512_set1_epi32(0xffff));
}

FUSEPLAN_AVX512 void pair_rows(const Half* even, const Half* odd, std::int64_t stride,
                               std::uint32_t* output, std::int64_t count) {
  if (stride > 2) return pair_plain(even, odd, stride, output, count);
  for (std::int64_t i = 0; i < count; i += 16) {
    const std::int64_t left = count - i;
    __m512i pairs = load_wide(even + i * stride, stride, left);
    if (odd != nullptr)
      pairs =
          _mm512_or_si512(pairs, _mm512_slli_epi32(load_wide(odd + i * stride, stride, left), 16));
    _mm512_mask_storeu_epi32(output + i, static_cast<__mmask16>(first_halves(left)), pairs);
  }
}

/// output[column * channels + channel] = input[channel * channel_step + column], for fewer than 8
/// channels: 32 columns of all of them make as many vectors, each lane picked from its channel's.
FUSEPLAN_AVX512 void interleave(const Half* input, std::int64_t channel_step, std::int64_t channels,
                                Half* output, std::int64_t columns) {
  constexpr int kLanes = 32;
  Half place = 0;
  std::int64_t channel_at = 0;
  for (std::int64_t vector = 0; vector < channels; ++vector) {
    alignas(64) Half column_of[kLanes];
    __mmask32 lanes_of[8] = {};
    for (int lane = 0; lane < kLanes; ++lane) {
      column_of[lane] = place;
      lanes_of[channel_at] |= 1u << lane;
      if (++channel_at < channels) continue;
      channel_at = 0;
      ++place;
    }
    const __m512i index = _mm512_load_si512(column_of);
    for (std::int64_t column = 0; column < columns; column += kLanes) {
      const __mmask32 inside = first_halves(columns - column);
      __m512i result = _mm512_setzero_si512();
      for (std::int64_t channel = 0; channel < channels; ++channel)
        result = _mm512_mask_permutexvar_epi16(
            result, lanes_of[channel], index,
            _mm512_maskz_loadu_epi16(inside, input + channel * channel_step + column));
      const std::int64_t first = column * channels + vector * kLanes;
      _mm512_mask_storeu_epi16(output + first, first_halves(columns * channels - first), result);
    }
  }
}
#else
constexpr auto* pair_rows = pair_plain;
#endif

/// [column][channel] as it is used by joined plans and by those whose channels are contiguous.
void stage_pixels(const DirectPlan& plan, const StagedRow& row) {
  const View& view = plan.source.input;
  const std::int64_t channels = plan.source.group_inputs, step = plan.stage.column_stride;
  const std::int64_t columns = row.columns.end - row.columns.begin;
  const std::int64_t column_step = row.columns.step * view.stride[4];
  const Half* from = reinterpret_cast<const Half*>(row.from);
  Half* to = reinterpret_cast<Half*>(row.to) + row.columns.begin * step;
  const auto copy = [](Half* output, const Half* input, std::int64_t count) {
    std::memcpy(output, input, static_cast<std::size_t>(count) * sizeof(Half));
  };
  if (view.stride[1] == 1 && column_step == channels && step == channels) {
    copy(to, from, columns * channels);
  } else if (view.stride[1] == 1) {
    for (std::int64_t column = 0; column < columns; ++column)
      copy(to + column * step, from + column * column_step, channels);
#if defined(__x86_64__)
  } else if (column_step == 1) {
    interleave(from, view.stride[1], channels, to, columns);
#endif
  } else {
    interleave_plain(from, view.stride[1], column_step, channels, to, columns);
  }
}

void clear_padding(const DirectPlan& plan, const StagedRow& row) {
  Half* to = reinterpret_cast<Half*>(row.to);
  const std::int64_t step = plan.stage.column_stride;
  std::fill(to, to + row.columns.begin * step, Half{0});
  std::fill(to + row.columns.end * step, to + plan.stage.columns * step, Half{0});
}

/// [pair of channels][column]
void stage_rows(const DirectPlan& plan, const StagedRow& row) {
  const View& view = plan.source.input;
  const std::int64_t channels = plan.source.group_inputs;
  const std::int64_t columns = row.columns.end - row.columns.begin;
  for (std::int64_t channel = 0; channel < channels; channel += 2) {
    const Half* even = reinterpret_cast<const Half*>(row.from) + channel * view.stride[1];
    pair_rows(even, channel + 1 < channels ? even + view.stride[1] : nullptr,
              row.columns.step * view.stride[4],
              reinterpret_cast<std::uint32_t*>(row.to) + channel / 2 * plan.stage.channel_stride +
                  row.columns.begin,
              columns);
  }
}

}  // namespace

void pair_halves(const std::uint16_t* even, const std::uint16_t* odd, std::int64_t stride,
                 std::uint32_t* output, std::int64_t count) {
  pair_rows(even, odd, stride, output, count);
}

void stage_pairs(const DirectPlan& plan, const StagedRow& row) {
  if (!plan.stage.channels_last) return stage_rows(plan, row);
  if (plan.joined) clear_padding(plan, row);
  stage_pixels(plan, row);
}

}  // namespace fuseplan::cpu
