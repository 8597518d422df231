// SPDX-License-Identifier: MIT
// Pixels that lie in any order in memory: a warpgroup gathers them, a thread its pixel's row of a
// tile, so that neighbouring threads load neighbouring pixels. A step is all taps of as many
// channels as 64 values hold; the rest are zeros. Loads have no predicates, of which there are too
// few for many loads at once: a tap outside the image reads one inside, and what it read is left
// out when values are packed. Filters that lie in the order of steps are fetched by the copy
// engine; others, which are small, are gathered as well.

#define FP_GATHERERS 128
static_assert(FP_BM == FP_GATHERERS, "a thread for each pixel of a tile");
#define FP_CHANNELS_AT_ONCE (FP_C < 64 / FP_TAPS ? FP_C : 64 / FP_TAPS)
#define FP_VALUES (FP_CHANNELS_AT_ONCE * FP_TAPS)  // of a step
// Channels are a multiple of what a step takes.
#define FP_WHOLE_STEPS (FP_C % FP_CHANNELS_AT_ONCE == 0)

// Selectors of fp_permute for two loads of 16 bits, whose upper halves are zeros.
#define FP_BOTH 0x5410u
#define FP_NEITHER 0x6622u
#define FP_WITHOUT_SECOND(selector) (((selector)&0xffu) | (FP_NEITHER & 0xff00u))

// A pixel's taps: rows of the step's first channel, columns from there on, and for each tap how it
// and the next one are packed.
struct fp_window {
  const unsigned short* row[FP_R];
  unsigned column[FP_S];
  unsigned selector[FP_TAPS];
};
FP_FN unsigned fp_clamp(int at, unsigned length) {
  return at < 0 ? 0u : (unsigned)at < length ? (unsigned)at : length - 1;
}
FP_FN fp_window fp_window_of(const fp_args& a, unsigned pixel) {
  const bool is_there = pixel < a.pixels;
  const fp_place at = fp_place_of(a, is_there ? pixel : 0);
  const int h = at.p * FP_STRIDE_H - FP_PAD_H, w = at.q * FP_STRIDE_W - FP_PAD_W;
  fp_window window;
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
  return window;
}

// Channels behind the last read the step's first one.
FP_FN bool fp_has_channel(unsigned step, unsigned c) {
  return FP_WHOLE_STEPS || step * FP_CHANNELS_AT_ONCE + c < FP_C;
}
// All loads of a step before the first use.
FP_FN void fp_load_taps(const fp_args& a, const fp_window& window, unsigned step,
                        unsigned (&bits)[64]) {
  FP_UNROLL
  for (unsigned i = 0; i < FP_VALUES; ++i) {
    const unsigned c = i / FP_TAPS, tap = i % FP_TAPS;
    const unsigned plane = fp_has_channel(step, c) ? c * (unsigned)a.input_stride[1] : 0u;
    bits[i] = fp_get16(window.row[tap / FP_S], window.column[tap % FP_S] + plane, a.value_bytes);
  }
  FP_UNROLL
  for (unsigned i = FP_VALUES; i < 64; ++i) bits[i] = 0;
}
// For values `i`, which is even, and i + 1.
FP_FN unsigned fp_selector_of(const fp_window& window, unsigned step, unsigned i) {
  if (i >= FP_VALUES) return FP_NEITHER;
  const unsigned c = i / FP_TAPS, next = (i + 1) / FP_TAPS;
  const unsigned selector = window.selector[i % FP_TAPS];
  if (!fp_has_channel(step, c)) return FP_NEITHER;
  return i + 1 < FP_VALUES && fp_has_channel(step, next) ? selector : FP_WITHOUT_SECOND(selector);
}

FP_FN void fp_put_taps(const fp_window& window, unsigned step, const unsigned (&bits)[64],
                       unsigned char* to) {
  FP_UNROLL
  for (unsigned piece = 0; piece < 8; ++piece) {
    fp_vec words;
    FP_UNROLL
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned i = 8 * piece + 2 * w;
      words.w[w] = fp_permute(bits[i], bits[i + 1], fp_selector_of(window, step, i));
    }
    fp_st16_async(fp_piece_at(to, fp_thread(), piece), words);
  }
}

FP_FN void fp_gather_filters(const fp_args& a, unsigned first, unsigned step, unsigned char* to) {
  FP_ONE_BY_ONE
  for (unsigned at = fp_thread(); at < FP_BN * 8; at += FP_GATHERERS) {
    const unsigned row = at % FP_BN, piece = at / FP_BN, k = first + row;
    unsigned bits[8];
    FP_UNROLL
    for (unsigned e = 0; e < 8; ++e) {
      const unsigned i = piece * 8 + e, c = step * FP_CHANNELS_AT_ONCE + i / FP_TAPS;
      const int tap = (int)(i % FP_TAPS);
      const bool is_there = k < FP_K && i < FP_VALUES && c < FP_C;
      bits[e] = is_there
                    ? fp_bits<FP_INPUT>(a.weights,
                                        fp_weight_offset(0, k, {(int)c, 0, tap / FP_S, tap % FP_S}))
                    : 0u;
    }
    fp_st16_async(fp_piece_at(to, row, piece), fp_pack(bits));
  }
}

FP_FN void fp_produce(const fp_args& a, const fp_shared& s) {
  fp_turn turn = {0, 0};
  FP_ONE_BY_ONE
  for (unsigned tile = fp_block(); tile < a.tiles; tile += fp_blocks()) {
    const fp_tile first = fp_tile_of(tile);
    fp_window window = fp_window_of(a, first.pixel + fp_thread());
    FP_ONE_BY_ONE
    for (unsigned step = 0; step < FP_STEPS; ++step) {
      unsigned bits[64];
      fp_load_taps(a, window, step, bits);
      FP_UNROLL
      for (int r = 0; r < FP_R; ++r) window.row[r] += FP_CHANNELS_AT_ONCE * a.input_stride[1];
      unsigned char* to = s.stages + turn.stage * FP_BYTES_STAGE;
      fp_mbar* full = s.full + turn.stage;
      fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);
      if (FP_GATHER_WEIGHTS) {
        fp_gather_filters(a, first.channel, step, to + FP_BYTES_A);
      } else if (fp_thread() == 0) {
        fp_mbar_expect(full, FP_BN * FP_ROW_BYTES);
        fp_tma_load(to + FP_BYTES_A, a.weight_map, full, (int)(step * FP_VALUES),
                    (int)first.channel, 0, 0);
      }
      fp_put_taps(window, step, bits, to);
      fp_fence_async();
      fp_warp_barrier();
      if (fp_thread() % 32 == 0) fp_mbar_arrive(full);
      fp_next(turn);
    }
  }
}

FP_KERNEL_HOPPER(fp_conv_gather, FP_THREADS) {
  FP_SHARED_HOPPER(arena);
  const fp_shared s = fp_shared_of(arena);
  // One arrival of each warp, and the one that says how much the copy engine brings.
  fp_start(s, FP_GATHERERS / 32 + (FP_GATHER_WEIGHTS ? 0 : 1));
  if (fp_warp() < FP_GATHERERS / 32) {
    fp_produce(a, s);
  } else {
    fp_consume(a, s);
  }
}
