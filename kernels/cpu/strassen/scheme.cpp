// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/scheme.hpp"

#include "base/status.hpp"
#include "kernels/cpu/intrinsics.hpp"

namespace fuseplan::cpu {
namespace {

#if defined(__x86_64__)
struct InputFactors {
  FUSEPLAN_AVX512 static void store(__m512 x11, __m512 x12, __m512 x21, __m512 x22, float* to,
                                    std::int64_t step) {
    const __m512 s1 = _mm512_add_ps(x21, x22), s2 = _mm512_sub_ps(s1, x11);
    _mm512_storeu_ps(to, x11);
    _mm512_storeu_ps(to + step, x12);
    _mm512_storeu_ps(to + 2 * step, s2);
    _mm512_storeu_ps(to + 3 * step, _mm512_sub_ps(x11, x21));
    _mm512_storeu_ps(to + 4 * step, x22);
    _mm512_storeu_ps(to + 5 * step, s1);
    _mm512_storeu_ps(to + 6 * step, _mm512_sub_ps(x12, s2));
  }
};

struct InputSums {
  FUSEPLAN_AVX512 static void store(__m512 x11, __m512 x12, __m512 x21, __m512 x22, float* to,
                                    std::int64_t step) {
    const __m512 s1 = _mm512_add_ps(x21, x22), s2 = _mm512_sub_ps(s1, x11);
    _mm512_storeu_ps(to, s2);
    _mm512_storeu_ps(to + step, _mm512_sub_ps(x11, x21));
    _mm512_storeu_ps(to + 2 * step, s1);
    _mm512_storeu_ps(to + 3 * step, _mm512_sub_ps(x12, s2));
  }
};

FUSEPLAN_AVX512 __m512 load(const Operand& from, std::int64_t at) {
  const std::int64_t left = std::clamp<std::int64_t>(from.count - at, 0, 16);
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << left) - 1), from.values + at);
}

std::int64_t shortest(const Quarters& q) {
  return std::min({q.q11.count, q.q12.count, q.q21.count, q.q22.count});
}

/// [first, count) in whole vectors as far as these exist.
template <typename Factors>
FUSEPLAN_AVX512 void combine(const Quarters& q, std::int64_t count, float* to, std::int64_t step) {
  const std::int64_t whole = std::min(shortest(q), count) / 16 * 16;
  std::int64_t i = 0;
  for (; i < whole; i += 16)
    Factors::store(_mm512_loadu_ps(q.q11.values + i), _mm512_loadu_ps(q.q12.values + i),
                   _mm512_loadu_ps(q.q21.values + i), _mm512_loadu_ps(q.q22.values + i), to + i,
                   step);
  for (; i < count; i += 16)
    Factors::store(load(q.q11, i), load(q.q12, i), load(q.q21, i), load(q.q22, i), to + i, step);
}

template <typename Factors>
FUSEPLAN_AVX512 void combine(const Quarters& q, const LinePieces& pieces, float* to) {
  const std::int64_t vectors = (pieces.width + 15) / 16 * 16, there = shortest(q);
  for (std::int64_t i = 0, at = 0; i < pieces.pieces;
       ++i, at += pieces.pitch, to += pieces.piece_step) {
    if (at + vectors <= there) {
      for (std::int64_t j = at; j < at + vectors; j += 16)
        Factors::store(_mm512_loadu_ps(q.q11.values + j), _mm512_loadu_ps(q.q12.values + j),
                       _mm512_loadu_ps(q.q21.values + j), _mm512_loadu_ps(q.q22.values + j),
                       to + j - at, pieces.step);
    } else {
      combine<Factors>({q.q11.from(at), q.q12.from(at), q.q21.from(at), q.q22.from(at)},
                       pieces.width, to, pieces.step);
    }
  }
}
/// A vector of each quarter, of which `mask` are stored.
FUSEPLAN_AVX512 inline void combine_weights(const WeightRows& w, std::int64_t at, __mmask16 mask,
                                            float* to, std::int64_t step) {
  const __m512 w11 = _mm512_loadu_ps(w.w11 + at), w12 = _mm512_loadu_ps(w.w12 + at);
  const __m512 w21 = _mm512_loadu_ps(w.w21 + at), w22 = _mm512_loadu_ps(w.w22 + at);
  const __m512 t1 = _mm512_sub_ps(w12, w11), t2 = _mm512_sub_ps(w22, t1);
  const __m512 factors[] = {w11, w21, t2, _mm512_sub_ps(w22, w12), _mm512_sub_ps(w21, t2), t1, w22};
#pragma GCC unroll 7
  for (int m = 0; m < kStrassenProducts; ++m)
    mask == 0xffff ? _mm512_storeu_ps(to + m * step, factors[m])
                   : _mm512_mask_storeu_ps(to + m * step, mask, factors[m]);
}

FUSEPLAN_AVX512 void combine_rows(const WeightRows& w, float* to, std::int64_t step) {
  const auto rest = static_cast<__mmask16>((1u << w.width % 16) - 1);
  for (std::int64_t i = 0; i < w.rows; ++i, to += w.width) {
    std::int64_t v = 0;
    for (; v + 16 <= w.width; v += 16) combine_weights(w, i * w.row + v, 0xffff, to + v, step);
    if (rest != 0) combine_weights(w, i * w.row + v, rest, to + v, step);
  }
}
#else
struct InputFactors {};
struct InputSums {};

void combine_rows(const WeightRows&, float*, std::int64_t) {
  fail(Status::InternalError, "products by Strassen are for AVX-512");
}

template <typename Factors, typename... Arguments>
void combine(const Arguments&...) {
  fail(Status::InternalError, "products by Strassen are for AVX-512");
}
#endif

}  // namespace

void combine_inputs(const Quarters& x, std::int64_t count, float* to, std::int64_t step) {
  combine<InputFactors>(x, count, to, step);
}
void combine_input_sums(const Quarters& x, std::int64_t count, float* to, std::int64_t step) {
  combine<InputSums>(x, count, to, step);
}
void combine_weights(const WeightRows& weights, float* to, std::int64_t step) {
  combine_rows(weights, to, step);
}
void combine_lines(const Quarters& x, const LinePieces& pieces, float* to) {
  combine<InputFactors>(x, pieces, to);
}
void combine_line_sums(const Quarters& x, const LinePieces& pieces, float* to) {
  combine<InputSums>(x, pieces, to);
}

}  // namespace fuseplan::cpu
