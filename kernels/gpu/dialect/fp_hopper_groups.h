// SPDX-License-Identifier: MIT
// Groups of FP_PACKED channels, each of as many outputs. A tile's FP_BN outputs read as many
// inputs, those of the same groups: its filters are FP_BN values long, zeros but for the group's
// own. Of each group the tensor cores multiply FP_BN / FP_PACKED times what it is, which costs less
// than bringing the pixels does.

// Pieces of 128 bytes of a tap.
#define FP_GROUP_PIECES (FP_BN / FP_ROW_VALUES)

// Of FP_EACH inputs of the tile from `first` on, for its output n.
FP_FN fp_vec fp_group_filter(const fp_args& a, unsigned k, unsigned n, unsigned first, int tap) {
  constexpr unsigned size = FP_PACKED ? FP_PACKED : 1;
  const fp_tap at = {(int)(first % size), 0, tap / FP_S, tap % FP_S};
  if constexpr (FP_WIDE_FILTERS)
    return fp_get<fp_vec>(a.weights, fp_weight_offset(0, k + n, at) / FP_EACH);
  unsigned bits[FP_EACH];
  FP_UNROLL
  for (unsigned e = 0; e < FP_EACH; ++e) {
    const unsigned c = first + e;
    const long long from = fp_weight_offset(0, k + n, {(int)(c % size), 0, at.r, at.s});
    bits[e] = 0u;
    if (c / size == n / size)
      bits[e] = FP_INPUT == FP_F32 ? fp_as_bits(fp_load_factor(a.weights, from))
                                   : fp_bits<FP_INPUT>(a.weights, from);
  }
  return fp_pack(bits);
}

FP_FN void fp_put_filter(const fp_shared& s, unsigned n, unsigned tap, unsigned first,
                         const fp_vec& words) {
  const unsigned step = tap * FP_GROUP_PIECES + first / FP_ROW_VALUES;
  fp_st16_async(fp_piece_at(s.filters + step * FP_FILTER_ROWS * FP_ROW_BYTES, n,
                            first % FP_ROW_VALUES / FP_EACH),
                words);
}

// Both consumers write the filters of the channels from k on over those before, and zeros around
// the tile's first ones, where they stay.
FP_FN void fp_pack_filters(const fp_args& a, const fp_shared& s, unsigned k, bool is_first) {
  constexpr unsigned size = FP_PACKED ? FP_PACKED : 1;
  constexpr unsigned pieces = size > FP_EACH ? size / FP_EACH : 1;  // of a filter's tap
  const unsigned thread = fp_thread() - FP_PRODUCERS * 128;
  fp_named_barrier(FP_BARRIER_BOTH, 256);  // those before have been read
  if (is_first) {
    const fp_vec zeros = {{0u, 0u, 0u, 0u}};
    FP_ONE_BY_ONE
    for (unsigned at = thread; at < FP_STEPS * FP_BN * 8; at += 256)
      fp_st16_async(s.filters + at * 16, zeros);
    fp_named_barrier(FP_BARRIER_BOTH, 256);
  }
  FP_FOUR_BY_FOUR
  for (unsigned at = thread; at < FP_BN * FP_TAPS * pieces; at += 256) {
    const unsigned n = at / pieces % FP_BN, tap = at / (FP_BN * pieces);
    const unsigned first = (n / size * size + at % pieces * FP_EACH) / FP_EACH * FP_EACH;
    if (k + n < FP_K) fp_put_filter(s, n, tap, first, fp_group_filter(a, k, n, first, (int)tap));
  }
  fp_fence_async();
  fp_named_barrier(FP_BARRIER_BOTH, 256);
}
