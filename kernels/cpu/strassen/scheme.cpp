// SPDX-License-Identifier: MIT
#include "kernels/cpu/strassen/scheme.hpp"

#include "base/integer.hpp"
#include "base/status.hpp"
#include "kernels/cpu/intrinsics.hpp"

namespace fuseplan::cpu {
namespace {

constexpr std::int64_t kMostLanes = 16;

std::int64_t shortest(const Quarters& q) {
  return std::min({q.q11.count, q.q12.count, q.q21.count, q.q22.count});
}

#if defined(__x86_64__)
enum class Factors : std::uint8_t { inputs, input_sums, weights };

/// Whether a factor is stored, and in which place.
constexpr int place_of(Factors factors, int product) {
  constexpr int kSums[kStrassenProducts] = {-1, -1, 0, 1, -1, 2, 3};
  return factors == Factors::input_sums ? kSums[product] : product;
}

// Once for each set: a template would be compiled for neither.
FUSEPLAN_AVX2 inline void make_inputs(const __m256 (&x)[4], __m256 (&f)[kStrassenProducts]) {
  f[0] = x[0];
  f[1] = x[1];
  f[5] = _mm256_add_ps(x[2], x[3]);
  f[2] = _mm256_sub_ps(f[5], x[0]);
  f[3] = _mm256_sub_ps(x[0], x[2]);
  f[4] = x[3];
  f[6] = _mm256_sub_ps(x[1], f[2]);
}
FUSEPLAN_AVX2 inline void make_weights(const __m256 (&w)[4], __m256 (&f)[kStrassenProducts]) {
  f[0] = w[0];
  f[1] = w[2];
  f[5] = _mm256_sub_ps(w[1], w[0]);
  f[2] = _mm256_sub_ps(w[3], f[5]);
  f[3] = _mm256_sub_ps(w[3], w[1]);
  f[4] = _mm256_sub_ps(w[2], f[2]);
  f[6] = w[3];
}

FUSEPLAN_AVX512 inline void make_inputs(const __m512 (&x)[4], __m512 (&f)[kStrassenProducts]) {
  f[0] = x[0];
  f[1] = x[1];
  f[5] = _mm512_add_ps(x[2], x[3]);
  f[2] = _mm512_sub_ps(f[5], x[0]);
  f[3] = _mm512_sub_ps(x[0], x[2]);
  f[4] = x[3];
  f[6] = _mm512_sub_ps(x[1], f[2]);
}
FUSEPLAN_AVX512 inline void make_weights(const __m512 (&w)[4], __m512 (&f)[kStrassenProducts]) {
  f[0] = w[0];
  f[1] = w[2];
  f[5] = _mm512_sub_ps(w[1], w[0]);
  f[2] = _mm512_sub_ps(w[3], f[5]);
  f[3] = _mm512_sub_ps(w[3], w[1]);
  f[4] = _mm512_sub_ps(w[2], f[2]);
  f[6] = w[3];
}
#endif

}  // namespace

struct StrassenScheme::Code {
#if defined(__x86_64__)
  template <Factors factors>
  FUSEPLAN_AVX2 static void avx2(const Run& run, float* to) {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < run.pieces; ++i, at += run.pitch, to += run.piece_step)
      for (std::int64_t j = 0; j < run.vectors; j += 8) {
        const __m256 q[] = {_mm256_loadu_ps(run.q11 + at + j), _mm256_loadu_ps(run.q12 + at + j),
                            _mm256_loadu_ps(run.q21 + at + j), _mm256_loadu_ps(run.q22 + at + j)};
        __m256 f[kStrassenProducts];
        factors == Factors::weights ? make_weights(q, f) : make_inputs(q, f);
#pragma GCC unroll 7
        for (int m = 0; m < kStrassenProducts; ++m)
          if (place_of(factors, m) >= 0)
            _mm256_storeu_ps(to + place_of(factors, m) * run.step + j, f[m]);
      }
  }

  template <Factors factors>
  FUSEPLAN_AVX512 static void avx512(const Run& run, float* to) {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < run.pieces; ++i, at += run.pitch, to += run.piece_step)
      for (std::int64_t j = 0; j < run.vectors; j += 16) {
        const __m512 q[] = {_mm512_loadu_ps(run.q11 + at + j), _mm512_loadu_ps(run.q12 + at + j),
                            _mm512_loadu_ps(run.q21 + at + j), _mm512_loadu_ps(run.q22 + at + j)};
        __m512 f[kStrassenProducts];
        factors == Factors::weights ? make_weights(q, f) : make_inputs(q, f);
#pragma GCC unroll 7
        for (int m = 0; m < kStrassenProducts; ++m)
          if (place_of(factors, m) >= 0)
            _mm512_storeu_ps(to + place_of(factors, m) * run.step + j, f[m]);
      }
  }
#endif
};

StrassenScheme::StrassenScheme(Isa isa) : lanes_(lanes_of(isa)) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) {
    inputs_ = Code::avx512<Factors::inputs>;
    input_sums_ = Code::avx512<Factors::input_sums>;
    weights_ = Code::avx512<Factors::weights>;
  } else if (isa == Isa::avx2) {
    inputs_ = Code::avx2<Factors::inputs>;
    input_sums_ = Code::avx2<Factors::input_sums>;
    weights_ = Code::avx2<Factors::weights>;
  }
#endif
  require(inputs_ != nullptr, Status::InternalError,
          "products by Strassen are for AVX2 and AVX-512");
}

/// One piece, of which whole vectors may not exist.
void StrassenScheme::combine_rest(Combine combine, const Quarters& x, std::int64_t width, float* to,
                                  std::int64_t step) const {
  const std::int64_t whole = std::min(shortest(x), width) / lanes_ * lanes_;
  combine({x.q11.values, x.q12.values, x.q21.values, x.q22.values, 1, whole, 0, 0, step}, to);
  for (std::int64_t i = whole; i < width; i += lanes_) {
    float padded[4][kMostLanes] = {};
    const Operand* const quarters[] = {&x.q11, &x.q12, &x.q21, &x.q22};
    for (int q = 0; q < 4; ++q)
      std::copy_n(quarters[q]->values + i,
                  std::clamp<std::int64_t>(quarters[q]->count - i, 0, lanes_), padded[q]);
    combine({padded[0], padded[1], padded[2], padded[3], 1, lanes_, 0, 0, step}, to + i);
  }
}

void StrassenScheme::combine(Combine combine, const Quarters& x, const LinePieces& pieces,
                             float* to) const {
  const std::int64_t vectors = round_up(pieces.width, lanes_), there = shortest(x);
  std::int64_t whole = there < vectors ? 0 : pieces.pieces;
  if (whole > 1) whole = std::min(whole, (there - vectors) / pieces.pitch + 1);
  combine({x.q11.values, x.q12.values, x.q21.values, x.q22.values, whole, vectors, pieces.pitch,
           pieces.piece_step, pieces.step},
          to);
  for (std::int64_t i = whole; i < pieces.pieces; ++i) {
    const std::int64_t at = i * pieces.pitch;
    combine_rest(combine, {x.q11.from(at), x.q12.from(at), x.q21.from(at), x.q22.from(at)},
                 pieces.width, to + i * pieces.piece_step, pieces.step);
  }
}

void StrassenScheme::combine_inputs(const Quarters& x, const LinePieces& pieces, float* to) const {
  combine(inputs_, x, pieces, to);
}
void StrassenScheme::combine_input_sums(const Quarters& x, const LinePieces& pieces,
                                        float* to) const {
  combine(input_sums_, x, pieces, to);
}
// Each row's last vector reaches into the next row, which follows.
void StrassenScheme::combine_weights(const WeightRows& w, float* to, std::int64_t step) const {
  weights_({w.w11, w.w12, w.w21, w.w22, w.rows, round_up(w.width, lanes_), w.row, w.width, step},
           to);
}

}  // namespace fuseplan::cpu
