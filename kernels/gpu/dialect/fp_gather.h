// SPDX-License-Identifier: MIT
// What does not lie together in memory, value by value: 16 bytes along the depth of a row or column
// of fp_conv.h's matrix product, with 0 outside. FP_DENSE_WEIGHTS: filters follow one another.

// All values of a chunk are of one tap.
#define FP_WHOLE (!FP_TAPS_INNER && FP_C % FP_EACH == 0)

FP_FN long long fp_filter_offset(const fp_tile& tile, unsigned k, unsigned d, const fp_tap& tap) {
  if (FP_DENSE_WEIGHTS) return ((long long)tile.group * FP_K + k) * FP_WEIGHT_K + d;
  return fp_weight_offset(tile.group, k, tap);
}
FP_FN void fp_next_tap(fp_tap& tap) {
  if (FP_TAPS_INNER) {
    if (++tap.s == FP_S) tap.s = 0, ++tap.r;
    if (tap.r == FP_R) tap.r = 0, ++(FP_VOLUME ? tap.t : tap.c);
    if (FP_VOLUME && tap.t == FP_T) tap.t = 0, ++tap.c;
  } else {
    ++tap.c;
    if (!FP_WHOLE && tap.c == FP_C) tap.c = 0, ++tap.s;
    if (!FP_WHOLE && tap.s == FP_S) tap.s = 0, ++tap.r;
    if (!FP_WHOLE && FP_VOLUME && tap.r == FP_R) tap.r = 0, ++tap.t;
  }
}

// A tap's place in the input, and the next one's: steps add what they cross, so that no value of a
// chunk costs products.
FP_FN fp_pixel fp_tap_place(const fp_args& a, const fp_pixel& pixel, const fp_tap& tap) {
  return {pixel.at + fp_tap_offset(a, tap), tap.t * FP_DILATION_D + pixel.d,
          tap.r * FP_DILATION_H + pixel.h, tap.s * FP_DILATION_W + pixel.w};
}
FP_FN void fp_next_place(const fp_args& a, fp_pixel& place, fp_tap& tap) {
  const long long plane = FP_DILATION_D * a.input_stride[2],
                  row = FP_DILATION_H * a.input_stride[3],
                  column = FP_DILATION_W * a.input_stride[4];
  const auto next_column = [&] { ++tap.s, place.w += FP_DILATION_W, place.at += column; };
  const auto next_row = [&] {
    tap.s = 0, ++tap.r;
    place.w -= FP_S * FP_DILATION_W, place.h += FP_DILATION_H, place.at += row - FP_S * column;
  };
  const auto next_plane = [&] {
    tap.r = 0, ++tap.t;
    place.h -= FP_R * FP_DILATION_H, place.d += FP_DILATION_D, place.at += plane - FP_R * row;
  };
  const auto next_channel = [&] {
    ++tap.c;
    if (FP_VOLUME)
      tap.t = 0, place.d -= FP_T * FP_DILATION_D, place.at += a.input_stride[1] - FP_T * plane;
    else
      tap.r = 0, place.h -= FP_R * FP_DILATION_H, place.at += a.input_stride[1] - FP_R * row;
  };
  if (FP_TAPS_INNER) {
    next_column();
    if (tap.s == FP_S) next_row();
    if (FP_VOLUME && tap.r == FP_R) next_plane();
    if (FP_VOLUME ? tap.t == FP_T : tap.r == FP_R) next_channel();
  } else {
    ++tap.c, place.at += a.input_stride[1];
    if (!FP_WHOLE && tap.c == FP_C) {
      tap.c = 0, place.at -= FP_C * a.input_stride[1];
      next_column();
    }
    if (!FP_WHOLE && tap.s == FP_S) next_row();
    if (!FP_WHOLE && FP_VOLUME && tap.r == FP_R) next_plane();
  }
}
FP_FN fp_vec fp_gather_input(const fp_args& a, const fp_pixel& pixel, unsigned d) {
  unsigned bits[FP_EACH];
  fp_tap tap = fp_tap_of(d);
  fp_pixel place = fp_tap_place(a, pixel, tap);
  FP_UNROLL
  for (int e = 0; e < FP_EACH; ++e, fp_next_place(a, place, tap)) {
    const bool there = d + e < FP_DEPTH && fp_is_inside(a, place, {});
    bits[e] = there ? fp_bits<FP_INPUT>(a.input, place.at) : 0u;
  }
  return fp_pack(bits);
}
FP_FN fp_vec fp_gather_weights(const fp_args& a, const fp_tile& tile, unsigned k, unsigned d) {
  unsigned bits[FP_EACH];
  fp_tap tap = fp_tap_of(d);
  FP_UNROLL
  for (int e = 0; e < FP_EACH; ++e, fp_next_tap(tap)) {
    const bool there = k < FP_K && d + e < FP_DEPTH;
    bits[e] = there ? fp_bits<FP_INPUT>(a.weights, fp_filter_offset(tile, k, d + e, tap)) : 0u;
  }
  return fp_pack(bits);
}
