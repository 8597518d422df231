// SPDX-License-Identifier: MIT
// Values that are loaded one by one, as chunks of 16 bytes.

// Values of a chunk.
#define FP_EACH (FP_INPUT == FP_F32 ? 4 : 8)

// A value's bits, and EACH of them as a chunk.
template <int type>
FP_FN unsigned fp_bits(const void* base, long long index) {
  if constexpr (type == FP_F32) return fp_get<unsigned>(base, index);
  return fp_get<unsigned short>(base, index);
}
FP_FN fp_vec fp_pack(const unsigned* bits) {
  fp_vec words;
  FP_UNROLL
  for (int w = 0; w < 4; ++w)
    words.w[w] = FP_EACH == 4 ? bits[w] : bits[2 * w % FP_EACH] | bits[(2 * w + 1) % FP_EACH] << 16;
  return words;
}
