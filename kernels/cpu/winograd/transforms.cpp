// SPDX-License-Identifier: MIT
#include "kernels/cpu/winograd/transforms.hpp"

#include <cstring>

// Code for a vector is generated before helpers are inlined, so each of them names the target.
#if defined(__x86_64__)
#define FUSEPLAN_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#else
#define FUSEPLAN_TARGET
#endif
#define FUSEPLAN_INLINE FUSEPLAN_TARGET __attribute__((always_inline)) inline

namespace fuseplan::cpu {
namespace {

using Vec = float __attribute__((vector_size(64)));
using Memory = float __attribute__((vector_size(64), aligned(4), may_alias));

FUSEPLAN_INLINE Vec load(const float* from) { return *reinterpret_cast<const Memory*>(from); }
FUSEPLAN_INLINE void store(float* to, Vec value) { *reinterpret_cast<Memory*>(to) = value; }

FUSEPLAN_INLINE Vec load_some(const float* from, std::int64_t count) {
  if (count == kTileLanes) return load(from);
  alignas(64) float lanes[kTileLanes] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(float));
  return load(lanes);
}

// The points 0, p, -p, q, -q and infinity. All of these constants are exact in f32.
constexpr float kP = 0.625F, kQ = 1.5F;
constexpr float kP2 = kP * kP, kQ2 = kQ * kQ, kSum = kP2 + kQ2, kProduct = kP2 * kQ2;

// Rows of B^T, polynomials that vanish at all points but one:
//   p^2 q^2 - (p^2 + q^2) x^2 + x^4
//   (x^4 - q^2 x^2) +- p (x^3 - q^2 x)
//   (x^4 - p^2 x^2) +- q (x^3 - p^2 x)
//   x (p^2 q^2 - (p^2 + q^2) x^2 + x^4)
FUSEPLAN_INLINE void input_axis(const Vec (&d)[6], Vec (&out)[6]) {
  const Vec p_even = d[4] - kQ2 * d[2], p_odd = d[3] - kQ2 * d[1];
  const Vec q_even = d[4] - kP2 * d[2], q_odd = d[3] - kP2 * d[1];
  out[0] = kProduct * d[0] + (d[4] - kSum * d[2]);
  out[1] = p_even + kP * p_odd;
  out[2] = p_even - kP * p_odd;
  out[3] = q_even + kQ * q_odd;
  out[4] = q_even - kQ * q_odd;
  out[5] = kProduct * d[1] + (d[5] - kSum * d[3]);
}

// Columns of A^T: 1, x, x^2, x^3 at each point.
FUSEPLAN_INLINE void output_axis(const Vec (&m)[6], Vec (&out)[4]) {
  const Vec p_sum = m[1] + m[2], p_difference = m[1] - m[2];
  const Vec q_sum = m[3] + m[4], q_difference = m[3] - m[4];
  out[0] = m[0] + (p_sum + q_sum);
  out[1] = kP * p_difference + kQ * q_difference;
  out[2] = kP2 * p_sum + kQ2 * q_sum;
  out[3] = kP2 * kP * p_difference + (kQ2 * kQ * q_difference + m[5]);
}

// Rows of G: 1, x, x^2 at each point, divided by what B^T's polynomial is there.
FUSEPLAN_INLINE void filter_axis(const Vec (&g)[3], Vec (&out)[6]) {
  constexpr float kAtP = 1 / (2 * kP2 * (kP2 - kQ2)), kAtQ = 1 / (2 * kQ2 * (kQ2 - kP2));
  const Vec p_even = kAtP * g[0] + kAtP * kP2 * g[2], p_odd = kAtP * kP * g[1];
  const Vec q_even = kAtQ * g[0] + kAtQ * kQ2 * g[2], q_odd = kAtQ * kQ * g[1];
  out[0] = 1 / kProduct * g[0];
  out[1] = p_even + p_odd;
  out[2] = p_even - p_odd;
  out[3] = q_even + q_odd;
  out[4] = q_even - q_odd;
  out[5] = g[2];
}

template <bool kInside>
FUSEPLAN_INLINE Vec input_at(const TileSource& source, std::int64_t row, std::int64_t column) {
  const std::int64_t at = source.offset + row * source.row_stride + column * source.column_stride;
  if constexpr (kInside) return load(source.base + at);
  if (!source.rows.holds(row) || !source.columns.holds(column)) return Vec{};
  return load_some(source.base + at, source.channels);
}

template <bool kInside>
FUSEPLAN_TARGET void transform_input_as(const TileSource& source, float* output,
                                        std::int64_t stride) {
  Vec half[6][6];  // [column][row of B^T d]
#pragma GCC unroll 6
  for (int column = 0; column < 6; ++column) {
    Vec d[6];
#pragma GCC unroll 6
    for (int row = 0; row < 6; ++row) d[row] = input_at<kInside>(source, row, column);
    input_axis(d, half[column]);
  }
#pragma GCC unroll 6
  for (int row = 0; row < 6; ++row) {
    Vec d[6], v[6];
#pragma GCC unroll 6
    for (int column = 0; column < 6; ++column) d[column] = half[column][row];
    input_axis(d, v);
#pragma GCC unroll 6
    for (int column = 0; column < 6; ++column)
      store(output + (row * 6 + column) * stride, v[column]);
  }
}

}  // namespace

void transform_input(const TileSource& source, float* output, std::int64_t stride) {
  if (source.rows.all() && source.columns.all() && source.channels == kTileLanes) {
    transform_input_as<true>(source, output, stride);
  } else {
    transform_input_as<false>(source, output, stride);
  }
}

FUSEPLAN_TARGET void transform_filter(const float* filter, float* output, std::int64_t stride) {
  Vec half[3][6];  // [column][row of G g]
  for (int column = 0; column < 3; ++column) {
    const Vec g[3] = {load(filter + column * kTileLanes), load(filter + (3 + column) * kTileLanes),
                      load(filter + (6 + column) * kTileLanes)};
    filter_axis(g, half[column]);
  }
  for (int row = 0; row < 6; ++row) {
    const Vec g[3] = {half[0][row], half[1][row], half[2][row]};
    Vec u[6];
    filter_axis(g, u);
    for (int column = 0; column < 6; ++column)
      store(output + (row * 6 + column) * stride, u[column]);
  }
}

FUSEPLAN_TARGET void transform_sums(const float* sums, std::int64_t stride, float* output,
                                    std::int64_t row_stride, std::int64_t column_stride) {
  Vec half[6][4];  // [column][row of A^T m]
#pragma GCC unroll 6
  for (int column = 0; column < 6; ++column) {
    Vec m[6];
#pragma GCC unroll 6
    for (int row = 0; row < 6; ++row) m[row] = load(sums + (row * 6 + column) * stride);
    output_axis(m, half[column]);
  }
#pragma GCC unroll 4
  for (int row = 0; row < 4; ++row) {
    Vec m[6], y[4];
#pragma GCC unroll 6
    for (int column = 0; column < 6; ++column) m[column] = half[column][row];
    output_axis(m, y);
#pragma GCC unroll 4
    for (int column = 0; column < 4; ++column)
      store(output + row * row_stride + column * column_stride, y[column]);
  }
}

}  // namespace fuseplan::cpu
