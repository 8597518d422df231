// SPDX-License-Identifier: MIT
#pragma once

// Elements of 8 and 16 bits as words of vectors. Like intrinsics.hpp, to be included by .cpp files
// only.
#include <algorithm>
#include <cstdint>

#include "kernels/cpu/intrinsics.hpp"

#if defined(__x86_64__)
namespace fuseplan::cpu {

constexpr std::int64_t kWords = 16;  ///< of a vector

inline __mmask32 first_elements(std::int64_t count) {
  return count >= 32 ? ~__mmask32{0} : count <= 0 ? 0 : (__mmask32{1} << count) - 1;
}

/// Elements 0, `stride`, ... as words, zeros above them: 16, or `count`, if that is less. `stride`
/// is 1 or 2; nothing behind the last is read.
FUSEPLAN_AVX512 inline __m512i words(const std::uint8_t* from, std::int64_t stride,
                                     std::int64_t count) {
  if (stride == 1)
    return _mm512_cvtepu8_epi32(
        _mm_maskz_loadu_epi8(static_cast<__mmask16>(first_elements(count)), from));
  const __m256i both = _mm256_maskz_loadu_epi8(first_elements(2 * count - 1), from);
  return _mm512_and_si512(_mm512_cvtepu16_epi32(both), _mm512_set1_epi32(0xff));
}
FUSEPLAN_AVX512 inline __m512i words(const std::uint16_t* from, std::int64_t stride,
                                     std::int64_t count) {
  if (stride == 1)
    return _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(static_cast<__mmask16>(first_elements(count)), from));
  const __m512i both = _mm512_maskz_loadu_epi16(first_elements(2 * count - 1), from);
  return _mm512_and_si512(both, _mm512_set1_epi32(0xffff));
}
/// Widened to 16 bits by their sign.
FUSEPLAN_AVX512 inline __m512i words(const std::int8_t* from, std::int64_t stride,
                                     std::int64_t count) {
  const __m512i bytes = words(reinterpret_cast<const std::uint8_t*>(from), stride, count);
  return _mm512_srli_epi32(_mm512_srai_epi32(_mm512_slli_epi32(bytes, 24), 8), 16);
}

/// Up to a vector of pixels of some planes.
template <typename Form>
struct PlaneWords {
  const typename Form::Source* from;
  std::int64_t step, last;  ///< from a plane to the next; the last of them
  std::int64_t stride;      ///< from a pixel to the next
  std::int64_t pixels;

  /// Planes that do not exist are the last once more.
  FUSEPLAN_AVX512 __m512i plane(std::int64_t index) const {
    return words(from + std::min(index, last) * step, stride, pixels);
  }
  /// Planes whose elements share words, from this one on.
  FUSEPLAN_AVX512 __m512i joined(std::int64_t first) const {
    if constexpr (sizeof(typename Form::Stored) == 2) {
      return _mm512_or_si512(plane(first), _mm512_slli_epi32(plane(first + 1), 16));
    } else {
      const __m512i low = _mm512_or_si512(plane(first), _mm512_slli_epi32(plane(first + 1), 8));
      const __m512i high =
          _mm512_or_si512(plane(first + 2), _mm512_slli_epi32(plane(first + 3), 8));
      return _mm512_xor_si512(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)),
                              _mm512_set1_epi8(static_cast<char>(Form::kZero)));
    }
  }
};

}  // namespace fuseplan::cpu
#endif
