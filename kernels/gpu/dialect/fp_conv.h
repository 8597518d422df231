// SPDX-License-Identifier: MIT
// Convolution as an implicit matrix product: rows are output pixels of the batch, columns the
// channels of one group, depth the taps of one filter. Tensors have the axes n, c, d, h, w; d has
// length 1 everywhere unless FP_VOLUME.

#define FP_TAPS (FP_T * FP_R * FP_S)
#define FP_DEPTH (FP_C * FP_TAPS)

struct fp_place {
  int n, o, p, q;
};
FP_FN fp_place fp_place_of(const fp_args& a, unsigned pixel) {
  const unsigned row = fp_divide(pixel, a.width), plane = fp_divide(row, a.height);
  const unsigned image = FP_VOLUME ? fp_divide(plane, a.depth) : plane;
  return {(int)image, FP_VOLUME ? (int)(plane - image * a.depth.divisor) : 0,
          (int)(row - plane * a.height.divisor), (int)(pixel - row * a.width.divisor)};
}
FP_FN long long fp_offset(const long long* stride, const fp_place& at, long long channel) {
  return at.n * stride[0] + channel * stride[1] + at.o * stride[2] + at.p * stride[3] +
         at.q * stride[4];
}

// An output pixel as its loads see it: what its first tap reads, perhaps outside the image. One
// outside the batch lies above it.
struct fp_pixel {
  long long at;
  int d, h, w;
};
FP_FN fp_pixel fp_pixel_of(const fp_args& a, unsigned pixel, unsigned group) {
  const fp_place at = fp_place_of(a, pixel);
  const int d = FP_VOLUME ? at.o * FP_STRIDE_D - FP_PAD_D : 0;
  const int h = at.p * FP_STRIDE_H - FP_PAD_H, w = at.q * FP_STRIDE_W - FP_PAD_W;
  return {fp_offset(a.input_stride, {at.n, d, h, w}, (long long)group * FP_C), d,
          pixel < a.pixels ? h : -(1 << 30), w};
}

// Where the depth step `d` reads: in the order in which the filter lies in memory.
struct fp_tap {
  int c, t, r, s;
};
FP_FN fp_tap fp_tap_of(unsigned d) {
  const unsigned c = FP_TAPS_INNER ? d / FP_TAPS : d % FP_C, tap = FP_TAPS_INNER ? d : d / FP_C;
  const unsigned row = tap / FP_S;
  if (FP_VOLUME)
    return {(int)c, (int)(FP_TAPS_INNER ? row / FP_R % FP_T : row / FP_R), (int)(row % FP_R),
            (int)(tap % FP_S)};
  return {(int)c, 0, (int)(FP_TAPS_INNER ? row % FP_R : row), (int)(tap % FP_S)};
}
FP_FN bool fp_is_inside(const fp_args& a, const fp_pixel& pixel, const fp_tap& tap) {
  const int d = pixel.d + tap.t * FP_DILATION_D, h = pixel.h + tap.r * FP_DILATION_H;
  const int w = pixel.w + tap.s * FP_DILATION_W;
  return (!FP_VOLUME || (unsigned)d < a.input_d) && (unsigned)h < a.input_h &&
         (unsigned)w < a.input_w;
}
FP_FN long long fp_tap_offset(const fp_args& a, const fp_tap& tap) {
  return fp_offset(a.input_stride,
                   {0, tap.t * FP_DILATION_D, tap.r * FP_DILATION_H, tap.s * FP_DILATION_W}, tap.c);
}
FP_FN long long fp_weight_offset(unsigned group, unsigned k, const fp_tap& tap) {
  return ((long long)group * FP_K + k) * FP_WEIGHT_K + (long long)tap.c * FP_WEIGHT_C +
         tap.t * FP_WEIGHT_T + tap.r * FP_WEIGHT_R + tap.s * FP_WEIGHT_S;
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
