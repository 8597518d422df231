// SPDX-License-Identifier: MIT
// A thread gathers its pixel's row of a tile, value by value, so that neighbouring threads load
// neighbouring pixels. Loads have no predicates, of which there are too few for many loads at once:
// a tap outside the image reads one inside, and what it read is left out when values are packed.

static_assert(FP_BM == 128, "a warpgroup's threads, or half of them, for each tile");
#define FP_VALUES (FP_CHANNELS_AT_ONCE * FP_TAPS)  // of a step
// Channels are a multiple of what a step takes.
#define FP_WHOLE_STEPS (FP_C % FP_CHANNELS_AT_ONCE == 0)

// Selectors of fp_permute for two loads of 16 bits, whose upper halves are zeros.
#define FP_BOTH 0x5410u
#define FP_NEITHER 0x6622u
#define FP_WITHOUT_FIRST(selector) (((selector)&0xff00u) | (FP_NEITHER & 0xffu))
#define FP_WITHOUT_SECOND(selector) (((selector)&0xffu) | (FP_NEITHER & 0xff00u))

// A pixel's taps: rows of the step's first channel, columns from there on, and for each tap how it
// and the next one are packed.
struct fp_pixel_window {
  static constexpr unsigned threads = FP_BM;
  using values = unsigned[FP_VALUES];
  const unsigned short* row[FP_R];
  unsigned column[FP_S];
  unsigned selector[FP_TAPS];
};
FP_FN void fp_find(const fp_args& a, unsigned pixel, fp_pixel_window& window) {
  const bool is_there = pixel < a.pixels;
  const fp_place at = fp_place_of(a, is_there ? pixel : 0);
  const int h = at.p * FP_STRIDE_H - FP_PAD_H, w = at.q * FP_STRIDE_W - FP_PAD_W;
  FP_UNROLL
  for (int r = 0; r < FP_R; ++r)
    window.row[r] = (const unsigned short*)a.input + at.n * a.input_stride[0] +
                    fp_clamp(h + r * FP_DILATION_H, a.input_h) * a.input_stride[3];
  FP_UNROLL
  for (int s = 0; s < FP_S; ++s)
    window.column[s] = fp_clamp(w + s * FP_DILATION_W, a.input_w) * (unsigned)a.input_stride[4];
  unsigned long long inside = 0;
  FP_UNROLL
  for (int t = 0; t < FP_TAPS; ++t)
    if (is_there && (unsigned)(h + t / FP_S * FP_DILATION_H) < a.input_h &&
        (unsigned)(w + t % FP_S * FP_DILATION_W) < a.input_w)
      inside |= 1ull << t;
  FP_UNROLL
  for (int t = 0; t < FP_TAPS; ++t) {
    const unsigned first = (unsigned)(inside >> t) & 1u,
                   second = (unsigned)(inside >> (t + 1) % FP_TAPS) & 1u;
    window.selector[t] = FP_NEITHER - (first + (second << 8)) * ((FP_NEITHER - FP_BOTH) & 0xffu);
  }
}

// Channels behind the last read the step's first one.
FP_FN bool fp_has_channel(unsigned step, unsigned c) {
  return FP_WHOLE_STEPS || step * FP_CHANNELS_AT_ONCE + c < FP_C;
}
// All loads of a step before the first use.
FP_FN void fp_load_values(const fp_args& a, const fp_pixel_window& window, unsigned step,
                          unsigned (&bits)[FP_VALUES]) {
  FP_UNROLL
  for (unsigned i = 0; i < FP_VALUES; ++i) {
    const unsigned c = i / FP_TAPS, tap = i % FP_TAPS;
    const unsigned plane = fp_has_channel(step, c) ? c * (unsigned)a.input_stride[1] : 0u;
    bits[i] = fp_get16(window.row[tap / FP_S], window.column[tap % FP_S] + plane, a.value_bytes);
  }
}
// Values `i` and i + 1 of a step, which need not be there.
FP_FN unsigned fp_pair(const fp_pixel_window& window, unsigned step,
                       const unsigned (&bits)[FP_VALUES], int i) {
  const bool first = i >= 0 && i < FP_VALUES, second = i + 1 >= 0 && i + 1 < FP_VALUES;
  if (!first && !second) return 0;
  unsigned selector = window.selector[(i + FP_TAPS) % FP_TAPS];
  if (!first || !fp_has_channel(step, i / FP_TAPS)) selector = FP_WITHOUT_FIRST(selector);
  if (!second || !fp_has_channel(step, (i + 1) / FP_TAPS)) selector = FP_WITHOUT_SECOND(selector);
  return fp_permute(bits[first ? i : 0], bits[second ? i + 1 : 0], selector);
}

// From value `shift` of the row on.
template <unsigned shift>
FP_FN void fp_put_values(const fp_pixel_window& window, unsigned step,
                         const unsigned (&bits)[FP_VALUES], unsigned thread, unsigned char* to) {
  FP_UNROLL
  for (unsigned piece = 0; piece < FP_PRODUCTS * 2; ++piece) {
    fp_vec words;
    FP_UNROLL
    for (unsigned w = 0; w < 4; ++w)
      words.w[w] = fp_pair(window, step, bits, (int)(8 * piece + 2 * w) - (int)shift);
    fp_st16_async(fp_piece_at(to, thread, piece), words);
  }
}
FP_FN void fp_advance(const fp_args& a, fp_pixel_window& window) {
  FP_UNROLL
  for (int r = 0; r < FP_R; ++r) window.row[r] += FP_CHANNELS_AT_ONCE * a.input_stride[1];
}
