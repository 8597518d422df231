// SPDX-License-Identifier: MIT
#include "kernels/cpu/pixel_pairs.hpp"

#include "kernels/cpu/wide_elements.hpp"

namespace fuseplan::cpu {
namespace {

using Half = std::uint16_t;

void pair_each(const Half* even, const Half* odd, std::int64_t stride, std::uint32_t* output,
               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t low = even[i * stride], high = odd != nullptr ? odd[i * stride] : 0;
    output[i] = high << 16 | low;
  }
}

#if defined(__x86_64__)
FUSEPLAN_AVX512 void pair_vectors(const Half* even, const Half* odd, std::int64_t stride,
                                  std::uint32_t* output, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kWords) {
    const std::int64_t left = count - i;
    __m512i pairs = words(even + i * stride, stride, left);
    if (odd != nullptr)
      pairs = _mm512_or_si512(pairs, _mm512_slli_epi32(words(odd + i * stride, stride, left), 16));
    _mm512_mask_storeu_epi32(output + i, static_cast<__mmask16>(first_elements(left)), pairs);
  }
}
#endif

}  // namespace

void pair_halves(const std::uint16_t* even, const std::uint16_t* odd, std::int64_t stride,
                 std::uint32_t* output, std::int64_t count) {
#if defined(__x86_64__)
  if (stride <= 2) return pair_vectors(even, odd, stride, output, count);
#endif
  pair_each(even, odd, stride, output, count);
}

}  // namespace fuseplan::cpu
