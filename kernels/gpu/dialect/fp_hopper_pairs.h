// SPDX-License-Identifier: MIT
// A thread gathers the rows of two neighbouring pixels of a tile, two columns with each load: where
// an image's columns are neighbours, rows are of an even length and start at even distances, and
// the filter takes every column. A word is all inside the image or all outside of it, then.

#if FP_PAIRS

#define FP_OFF (FP_PAD_W % 2)  // columns from a word's start to the first tap of a pair
#define FP_WORDS ((FP_OFF + FP_S + 2) / 2)
// Channels of the last step.
#define FP_LAST_CHANNELS (FP_C - (FP_STEPS - 1) * FP_CHANNELS_AT_ONCE)

// Rows of the step's first channel, words from there on, and what is inside the image.
struct fp_pair_window {
  static constexpr unsigned threads = FP_BM / 2;
  using values = unsigned[FP_CHANNELS_AT_ONCE * FP_R * FP_WORDS];
  const unsigned* row[FP_R];
  unsigned word[FP_WORDS];
  unsigned row_mask[FP_R], word_mask[FP_WORDS];
};
FP_FN void fp_find(const fp_args& a, unsigned pixel, fp_pair_window& window) {
  const bool is_there = pixel < a.pixels;
  const fp_place at = fp_place_of(a, is_there ? pixel : 0);
  const int h = at.p * FP_STRIDE_H - FP_PAD_H, w = (at.q - FP_PAD_W - FP_OFF) / 2;
  const unsigned words = a.input_w / 2;
  const unsigned short* image = (const unsigned short*)a.input + at.n * a.input_stride[0];
  FP_UNROLL
  for (int r = 0; r < FP_R; ++r) {
    const int row = h + r * FP_DILATION_H;
    window.row[r] = (const unsigned*)(image + fp_clamp(row, a.input_h) * a.input_stride[3]);
    window.row_mask[r] = is_there && (unsigned)row < a.input_h ? ~0u : 0u;
  }
  FP_UNROLL
  for (int i = 0; i < FP_WORDS; ++i) {
    window.word[i] = fp_clamp(w + i, words);
    window.word_mask[i] = (unsigned)(w + i) < words ? ~0u : 0u;
  }
}
FP_FN void fp_advance(const fp_args& a, fp_pair_window& window) {
  FP_UNROLL
  for (int r = 0; r < FP_R; ++r) window.row[r] += FP_CHANNELS_AT_ONCE * a.input_stride[1] / 2;
}

template <unsigned channels>
FP_FN void fp_load_words(const fp_args& a, const fp_pair_window& window,
                         fp_pair_window::values& bits) {
  const unsigned plane = (unsigned)(a.input_stride[1] / 2);
  FP_UNROLL
  for (unsigned i = 0; i < channels * FP_R * FP_WORDS; ++i)
    bits[i] = fp_get32(window.row[i / FP_WORDS % FP_R],
                       window.word[i % FP_WORDS] + i / FP_WORDS / FP_R * plane, 2 * a.value_bytes);
}
// All loads of a step before the first use.
FP_FN void fp_load_values(const fp_args& a, const fp_pair_window& window, unsigned step,
                          fp_pair_window::values& bits) {
  if (FP_LAST_CHANNELS != FP_CHANNELS_AT_ONCE && step + 1 == FP_STEPS) {
    fp_load_words<FP_LAST_CHANNELS>(a, window, bits);
  } else {
    fp_load_words<FP_CHANNELS_AT_ONCE>(a, window, bits);
  }
}

// Value `i` of the pair's pixel `pixel`: which word holds it, and in which half.
FP_FN unsigned fp_word_of(unsigned i, unsigned pixel) {
  return i / FP_S * FP_WORDS + (FP_OFF + i % FP_S + pixel) / 2;
}
FP_FN unsigned fp_half_of(unsigned i, unsigned pixel) { return (FP_OFF + i % FP_S + pixel) % 2; }

template <unsigned channels>
FP_FN unsigned fp_two_of(const fp_pair_window::values& bits, int i, unsigned pixel) {
  constexpr int count = channels * FP_TAPS;
  const bool first = i >= 0 && i < count, second = i + 1 >= 0 && i + 1 < count;
  if (!first && !second) return 0;
  const unsigned one = first ? i : 0, next = second ? i + 1 : 0;
  return fp_permute(first ? bits[fp_word_of(one, pixel)] : 0u,
                    second ? bits[fp_word_of(next, pixel)] : 0u,
                    (fp_half_of(one, pixel) != 0 ? 0x32u : 0x10u) |
                        (fp_half_of(next, pixel) != 0 ? 0x7600u : 0x5400u));
}
template <unsigned shift, unsigned channels>
FP_FN void fp_put_words(const fp_pair_window& window, const fp_pair_window::values& bits,
                        unsigned thread, unsigned char* to) {
  fp_pair_window::values inside;
  FP_UNROLL
  for (unsigned i = 0; i < channels * FP_R * FP_WORDS; ++i)
    inside[i] = bits[i] & window.row_mask[i / FP_WORDS % FP_R] & window.word_mask[i % FP_WORDS];
  FP_UNROLL
  for (unsigned pixel = 0; pixel < 2; ++pixel) {
    FP_UNROLL
    for (unsigned piece = 0; piece < FP_PRODUCTS * 2; ++piece) {
      fp_vec words;
      FP_UNROLL
      for (unsigned w = 0; w < 4; ++w)
        words.w[w] = fp_two_of<channels>(inside, (int)(8 * piece + 2 * w) - (int)shift, pixel);
      fp_st16_async(fp_piece_at(to, 2 * thread + pixel, piece), words);
    }
  }
}
template <unsigned shift>
FP_FN void fp_put_values(const fp_pair_window& window, unsigned step,
                         const fp_pair_window::values& bits, unsigned thread, unsigned char* to) {
  if (FP_LAST_CHANNELS != FP_CHANNELS_AT_ONCE && step + 1 == FP_STEPS) {
    fp_put_words<shift, FP_LAST_CHANNELS>(window, bits, thread, to);
  } else {
    fp_put_words<shift, FP_CHANNELS_AT_ONCE>(window, bits, thread, to);
  }
}

#endif
