// SPDX-License-Identifier: MIT
// Convolution as an implicit matrix product: rows are output pixels of the batch, columns the
// channels of one group, depth the taps of one filter.

#define FP_DEPTH (FP_C * FP_R * FP_S)

struct fp_place {
  int n, p, q;
};
FP_FN fp_place fp_place_of(const fp_args& a, unsigned pixel) {
  const unsigned row = fp_divide(pixel, a.width), image = fp_divide(row, a.height);
  return {(int)image, (int)(row - image * a.height.divisor), (int)(pixel - row * a.width.divisor)};
}

// Where the depth step `d` reads: in the order in which the filter lies in memory.
struct fp_tap {
  int c, r, s;
};
FP_FN fp_tap fp_tap_of(unsigned d) {
  if (FP_TAPS_INNER) return {(int)(d / (FP_R * FP_S)), (int)(d / FP_S % FP_R), (int)(d % FP_S)};
  return {(int)(d % FP_C), (int)(d / (FP_C * FP_S)), (int)(d / FP_C % FP_S)};
}

// What a block computes; neighbouring blocks share their pixels.
#define FP_TILES_N ((FP_K + FP_BN - 1) / FP_BN)
struct fp_tile {
  unsigned pixel, channel, group;  // first row, first column within the group
};
FP_FN fp_tile fp_tile_of(unsigned block) {
  const unsigned column = block % (FP_TILES_N * FP_GROUPS);
  return {block / (FP_TILES_N * FP_GROUPS) * FP_BM, column % FP_TILES_N * FP_BN,
          column / FP_TILES_N};
}
