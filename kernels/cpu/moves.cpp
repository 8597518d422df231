// SPDX-License-Identifier: MIT
#include "kernels/cpu/moves.hpp"

#include <algorithm>

#include "base/half.hpp"
#include "kernels/cpu/intrinsics.hpp"

namespace fuseplan::cpu {
namespace {

float value_of(float value) { return value; }
struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};
float value_of(F16 value) { return f16_to_float(value.bits); }
float value_of(Bf16 value) { return bf16_to_float(value.bits); }

template <typename T>
void widen_strided(const T* input, std::int64_t stride, float* output, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) output[i] = value_of(input[i * stride]);
}

template <typename T>
void widen_plain(const void* input, std::int64_t stride, float* output, std::int64_t count) {
  widen_strided(static_cast<const T*>(input), stride, output, count);
}

/// Where the lines of a square lie: anywhere, or evenly spaced.
template <typename T>
struct Listed {
  T* const* lines;
  T* operator()(int i) const { return lines[i]; }
};
template <typename T>
struct Spaced {
  T* first;
  std::int64_t step;
  T* operator()(int i) const { return first + i * step; }
};

void transpose_plain(const float* const* rows, float* const* columns) { *columns[0] = *rows[0]; }

void turn_plain(const float* input, std::int64_t input_step, std::int64_t rows,
                std::int64_t columns, float* output, std::int64_t output_step) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      output[c * output_step + r] = input[r * input_step + c];
}

void deal_plain(const float* row, std::int64_t count, std::int64_t width, float* output,
                std::int64_t step) {
  for (std::int64_t at = 0; at < count; at += width, output += step)
    std::copy_n(row + at, std::min(width, count - at), output);
}

#if defined(__x86_64__)

// 4 x 4 transposes inside the quarters of registers, and then of the quarters.
template <typename Rows, typename Columns>
FUSEPLAN_AVX512 inline void square_avx512(const Rows& rows, const Columns& columns) {
  __m512 r[16];  // r[4 g + j]: column 4 q + j of rows 4 g to 4 g + 3 in quarter q
#pragma GCC unroll 4
  for (int g = 0; g < 16; g += 4) {
    const __m512 r0 = _mm512_loadu_ps(rows(g)), r1 = _mm512_loadu_ps(rows(g + 1));
    const __m512 r2 = _mm512_loadu_ps(rows(g + 2)), r3 = _mm512_loadu_ps(rows(g + 3));
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r0, r1));
    const __m512d b = _mm512_castps_pd(_mm512_unpacklo_ps(r2, r3));
    const __m512d c = _mm512_castps_pd(_mm512_unpackhi_ps(r0, r1));
    const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r2, r3));
    r[g] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
    r[g + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    r[g + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
    r[g + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
  }
  constexpr int kEven = 0x88, kOdd = 0xdd;  // quarters 0 and 2, or 1 and 3, of either operand
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 a = _mm512_shuffle_f32x4(r[j], r[j + 4], kEven);
    const __m512 b = _mm512_shuffle_f32x4(r[j], r[j + 4], kOdd);
    const __m512 c = _mm512_shuffle_f32x4(r[j + 8], r[j + 12], kEven);
    const __m512 d = _mm512_shuffle_f32x4(r[j + 8], r[j + 12], kOdd);
    _mm512_storeu_ps(columns(j), _mm512_shuffle_f32x4(a, c, kEven));
    _mm512_storeu_ps(columns(j + 4), _mm512_shuffle_f32x4(b, d, kEven));
    _mm512_storeu_ps(columns(j + 8), _mm512_shuffle_f32x4(a, c, kOdd));
    _mm512_storeu_ps(columns(j + 12), _mm512_shuffle_f32x4(b, d, kOdd));
  }
}

template <typename Rows, typename Columns>
FUSEPLAN_AVX2 inline void square_avx2(const Rows& rows, const Columns& columns) {
#pragma GCC unroll 2
  for (int j = 0; j < 8; j += 4) {
    __m256 r[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_castps128_ps256(_mm_loadu_ps(rows(i) + j));
      r[i] = _mm256_insertf128_ps(r[i], _mm_loadu_ps(rows(i + 4) + j), 1);
    }
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1]));
    const __m256d b = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3]));
    const __m256d c = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1]));
    const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));
    _mm256_storeu_ps(columns(j), _mm256_castpd_ps(_mm256_unpacklo_pd(a, b)));
    _mm256_storeu_ps(columns(j + 1), _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
    _mm256_storeu_ps(columns(j + 2), _mm256_castpd_ps(_mm256_unpacklo_pd(c, d)));
    _mm256_storeu_ps(columns(j + 3), _mm256_castpd_ps(_mm256_unpackhi_pd(c, d)));
  }
}

FUSEPLAN_AVX512 void transpose_avx512(const float* const* rows, float* const* columns) {
  square_avx512(Listed<const float>{rows}, Listed<float>{columns});
}
FUSEPLAN_AVX2 void transpose_avx2(const float* const* rows, float* const* columns) {
  square_avx2(Listed<const float>{rows}, Listed<float>{columns});
}

FUSEPLAN_AVX512 void turn_avx512(const float* input, std::int64_t input_step, std::int64_t rows,
                                 std::int64_t columns, float* output, std::int64_t output_step) {
  for (std::int64_t r = 0; r < rows; r += 16)
    for (std::int64_t c = 0; c < columns; c += 16)
      square_avx512(Spaced<const float>{input + r * input_step + c, input_step},
                    Spaced<float>{output + c * output_step + r, output_step});
}
FUSEPLAN_AVX2 void turn_avx2(const float* input, std::int64_t input_step, std::int64_t rows,
                             std::int64_t columns, float* output, std::int64_t output_step) {
  for (std::int64_t r = 0; r < rows; r += 8)
    for (std::int64_t c = 0; c < columns; c += 8)
      square_avx2(Spaced<const float>{input + r * input_step + c, input_step},
                  Spaced<float>{output + c * output_step + r, output_step});
}

FUSEPLAN_AVX2 __m256 load8(const float* input) { return _mm256_loadu_ps(input); }
FUSEPLAN_AVX2 __m256 load8(const F16* input) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(input)));
}
FUSEPLAN_AVX2 __m256 load8(const Bf16* input) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(input));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

FUSEPLAN_AVX2 __m128 load4(const float* input) { return _mm_loadu_ps(input); }
FUSEPLAN_AVX2 __m128 load4(const F16* input) {
  return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(input)));
}
FUSEPLAN_AVX2 __m128 load4(const Bf16* input) {
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(input));
  return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(bits), 16));
}

template <typename T>
FUSEPLAN_AVX2 void widen_rows_avx2(const T* input, float* output, std::int64_t count) {
  if (count < 8) return widen_strided(input, 1, output, count);
  for (std::int64_t i = 0; i < count - 8; i += 8) _mm256_storeu_ps(output + i, load8(input + i));
  _mm256_storeu_ps(output + count - 8, load8(input + count - 8));
}

// Values 0, 2, ... 14 of the input, or 0, 2, 4 and 6: the second half of them is in a vector that
// ends with the last, of which nothing behind is read.
constexpr int kEvenThenOdd = 0xd8;  // lanes 0 and 2 of one operand, 1 and 3 of the other
template <typename T>
FUSEPLAN_AVX2 inline void store_8_of_15(const T* input, float* output) {
  constexpr int kMiddle = 0xd8;  // exchanges the two quarters in the middle
  const __m256 halves = _mm256_shuffle_ps(load8(input), load8(input + 7), kEvenThenOdd);
  const __m256d ordered =
      _mm256_castsi256_pd(_mm256_permute4x64_epi64(_mm256_castps_si256(halves), kMiddle));
  _mm256_storeu_ps(output, _mm256_castpd_ps(ordered));
}
template <typename T>
FUSEPLAN_AVX2 inline void store_4_of_7(const T* input, float* output) {
  _mm_storeu_ps(output, _mm_shuffle_ps(load4(input), load4(input + 3), kEvenThenOdd));
}

// Rests overlap what is in front of them.
template <typename T>
FUSEPLAN_AVX2 void widen_every_other_avx2(const T* input, float* output, std::int64_t count) {
  if (count < 4) return widen_strided(input, 2, output, count);
  if (count < 8) {
    store_4_of_7(input, output);
    return store_4_of_7(input + 2 * (count - 4), output + count - 4);
  }
  for (std::int64_t i = 0; i < count - 8; i += 8) store_8_of_15(input + 2 * i, output + i);
  store_8_of_15(input + 2 * (count - 8), output + count - 8);
}

template <typename T>
FUSEPLAN_AVX2 void widen_avx2(const void* from, std::int64_t stride, float* output,
                              std::int64_t count) {
  const T* input = static_cast<const T*>(from);
  if (stride == 1) {
    widen_rows_avx2(input, output, count);
  } else if (stride == 2) {
    widen_every_other_avx2(input, output, count);
  } else {
    widen_strided(input, stride, output, count);
  }
}

FUSEPLAN_AVX512 __m512 load16(const float* input) { return _mm512_loadu_ps(input); }
FUSEPLAN_AVX512 __m512 load16(const F16* input) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(input)));
}
FUSEPLAN_AVX512 __m512 load16(const Bf16* input) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(input));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// Rests are loads that overlap, not masked ones: on a Zen 5 those wait for each other's lines where
// these do not (rows of 14 values at stride 2 from the third level: 93 us instead of 250).
template <typename T>
FUSEPLAN_AVX512 void widen_rows(const T* input, float* output, std::int64_t count) {
  if (count >= 16) {
    for (std::int64_t i = 0; i < count - 16; i += 16)
      _mm512_storeu_ps(output + i, load16(input + i));
    _mm512_storeu_ps(output + count - 16, load16(input + count - 16));
  } else if (count >= 8) {
    const __m256 last = load8(input + count - 8);
    _mm256_storeu_ps(output, load8(input));
    _mm256_storeu_ps(output + count - 8, last);
  } else {
    widen_strided(input, 1, output, count);
  }
}

// `count` values, of which the last is 2 (count - 1) from the first: nothing behind it is read.
template <typename T>
FUSEPLAN_AVX512 void widen_every_other(const T* input, float* output, std::int64_t count) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  std::int64_t i = 0;
  for (; i + 16 < count; i += 16)
    _mm512_storeu_ps(output + i, _mm512_permutex2var_ps(load16(input + 2 * i), even,
                                                        load16(input + 2 * i + 16)));
  const std::int64_t left = count - i, span = 2 * left - 1;
  input += 2 * i;
  output += i;
  const auto mask = static_cast<__mmask16>((1u << left) - 1);
  // The second half of the values is in a vector that ends with the last of them.
  if (span >= 16) {
    const __m512i moved = _mm512_set1_epi32(static_cast<int>(32 - span));
    const __m512i place = _mm512_mask_add_epi32(even, 0xff00, even, moved);
    _mm512_mask_storeu_ps(output, mask,
                          _mm512_permutex2var_ps(load16(input), place, load16(input + span - 16)));
  } else if (span >= 8) {
    const __m256i moved = _mm256_set1_epi32(static_cast<int>(16 - span));
    const __m256i low = _mm512_castsi512_si256(even);
    const __m256i place = _mm256_mask_add_epi32(low, 0xf0, low, moved);
    _mm256_mask_storeu_ps(output, static_cast<__mmask8>(mask),
                          _mm256_permutex2var_ps(load8(input), place, load8(input + span - 8)));
  } else {
    widen_strided(input, 2, output, left);
  }
}

template <typename T>
FUSEPLAN_AVX512 void widen_avx512(const void* from, std::int64_t stride, float* output,
                                  std::int64_t count) {
  const T* input = static_cast<const T*>(from);
  if (stride == 1) {
    widen_rows(input, output, count);
  } else if (stride == 2) {
    widen_every_other(input, output, count);
  } else {
    widen_strided(input, stride, output, count);
  }
}

FUSEPLAN_AVX512 void deal_avx512(const float* row, std::int64_t count, std::int64_t width,
                                 float* output, std::int64_t step) {
  for (std::int64_t at = 0; at < count; at += width, output += step) {
    const std::int64_t end = std::min(width, count - at);
    std::int64_t i = 0;
    for (; i + 16 <= end; i += 16) _mm512_storeu_ps(output + i, _mm512_loadu_ps(row + at + i));
    if (i == end) continue;
    const auto rest = static_cast<__mmask16>((1u << (end - i)) - 1);
    _mm512_mask_storeu_ps(output + i, rest, _mm512_maskz_loadu_ps(rest, row + at + i));
  }
}
FUSEPLAN_AVX2 void deal_avx2(const float* row, std::int64_t count, std::int64_t width,
                             float* output, std::int64_t step) {
  for (std::int64_t at = 0; at < count; at += width, output += step) {
    const std::int64_t end = std::min(width, count - at);
    std::int64_t i = 0;
    for (; i + 8 <= end; i += 8) _mm256_storeu_ps(output + i, _mm256_loadu_ps(row + at + i));
    for (; i < end; ++i) output[i] = row[at + i];
  }
}
#endif

template <typename T>
Moves moves_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return {transpose_avx512, turn_avx512, widen_avx512<T>, deal_avx512, 16};
  if (isa == Isa::avx2) return {transpose_avx2, turn_avx2, widen_avx2<T>, deal_avx2, 8};
#endif
  return {transpose_plain, turn_plain, widen_plain<T>, deal_plain, lanes_of(isa)};
}

}  // namespace

Moves moves_for(DType dtype, Isa isa) {
  if (dtype == DType::f16) return moves_of<F16>(isa);
  if (dtype == DType::bf16) return moves_of<Bf16>(isa);
  return moves_of<float>(isa);
}

}  // namespace fuseplan::cpu
