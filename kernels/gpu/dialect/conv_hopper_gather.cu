// SPDX-License-Identifier: MIT
// Pixels that lie in any order in memory: warpgroups gather them, which take steps in turn, a
// thread its pixel's row of a tile, so that neighbouring threads load neighbouring pixels. A step
// is all taps of some channels; the rest of its 64 values are zeros. Loads have no predicates, of
// which there are too few for many loads at once: a tap outside the image reads one inside, and
// what it read is left out when values are packed. Filters that lie in the order of steps are
// fetched by the copy engine, from the multiple of 16 bytes before the step's first value on, which
// is as far behind the first in the pixels' rows; others are gathered once and stay.

#define FP_GATHERERS 128  // of a warpgroup
static_assert(FP_BM == FP_GATHERERS, "a thread for each pixel of a tile");
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
                        unsigned (&bits)[FP_VALUES]) {
  FP_UNROLL
  for (unsigned i = 0; i < FP_VALUES; ++i) {
    const unsigned c = i / FP_TAPS, tap = i % FP_TAPS;
    const unsigned plane = fp_has_channel(step, c) ? c * (unsigned)a.input_stride[1] : 0u;
    bits[i] = fp_get16(window.row[tap / FP_S], window.column[tap % FP_S] + plane, a.value_bytes);
  }
}
// Values `i` and i + 1 of a step, which need not be there.
FP_FN unsigned fp_pair(const fp_window& window, unsigned step, const unsigned (&bits)[FP_VALUES],
                       int i) {
  const bool first = i >= 0 && i < FP_VALUES, second = i + 1 >= 0 && i + 1 < FP_VALUES;
  if (!first && !second) return 0;
  unsigned selector = window.selector[(i + FP_TAPS) % FP_TAPS];
  if (!first || !fp_has_channel(step, i / FP_TAPS)) selector = FP_WITHOUT_FIRST(selector);
  if (!second || !fp_has_channel(step, (i + 1) / FP_TAPS)) selector = FP_WITHOUT_SECOND(selector);
  return fp_permute(bits[first ? i : 0], bits[second ? i + 1 : 0], selector);
}

// From value `shift` of the row on.
template <unsigned shift>
FP_FN void fp_put_taps(const fp_window& window, unsigned step, const unsigned (&bits)[FP_VALUES],
                       unsigned char* to) {
  FP_UNROLL
  for (unsigned piece = 0; piece < FP_PRODUCTS * 2; ++piece) {
    fp_vec words;
    FP_UNROLL
    for (unsigned w = 0; w < 4; ++w)
      words.w[w] = fp_pair(window, step, bits, (int)(8 * piece + 2 * w) - (int)shift);
    fp_st16_async(fp_piece_at(to, fp_thread() % FP_GATHERERS, piece), words);
  }
}
// Shifts are known when this is compiled: registers have no indices.
template <unsigned shift>
FP_FN void fp_put_shifted(const fp_window& window, unsigned step, const unsigned (&bits)[FP_VALUES],
                          unsigned char* to, unsigned wanted) {
  if constexpr (shift + FP_SHIFT_UNIT < 8) {
    if (wanted != shift)
      return fp_put_shifted<shift + FP_SHIFT_UNIT>(window, step, bits, to, wanted);
  }
  fp_put_taps<shift>(window, step, bits, to);
}

// All filters, step by step.
FP_FN void fp_gather_filters(const fp_args& a, unsigned char* to) {
  FP_ONE_BY_ONE
  for (unsigned at = fp_thread(); at < FP_FILTER_ROWS * FP_STEPS * 8; at += FP_THREADS) {
    const unsigned k = at % FP_FILTER_ROWS, piece = at / FP_FILTER_ROWS % 8;
    const unsigned step = at / FP_FILTER_ROWS / 8;
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
    fp_st16_async(fp_piece_at(to + step * FP_FILTER_ROWS * FP_ROW_BYTES, k, piece), fp_pack(bits));
  }
  fp_fence_async();
}

FP_FN void fp_fill_stage(const fp_args& a, const fp_shared& s, const fp_turn& turn,
                         const fp_window& window, unsigned step, unsigned k) {
  unsigned bits[FP_VALUES];
  fp_load_taps(a, window, step, bits);
  unsigned char* to = s.stages + turn.stage * FP_BYTES_STAGE;
  fp_mbar* full = s.full + turn.stage;
  const unsigned start = step * FP_VALUES, shift = FP_RESIDENT ? 0 : start % 8;
  fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);
  if (!FP_RESIDENT && fp_thread() % FP_GATHERERS == 0) {
    fp_mbar_expect(full, FP_BN * FP_ROW_BYTES);
    fp_tma_load(to + FP_BYTES_A, a.weight_map, full, (int)(start - shift), (int)k, 0, 0);
  }
  fp_put_shifted<0>(window, step, bits, to, shift);
  fp_fence_async();
  fp_warp_barrier();
  if (fp_thread() % 32 == 0) fp_mbar_arrive(full);
}

FP_FN void fp_produce(const fp_args& a, const fp_shared& s) {
  const unsigned group = fp_warp() / 4;
  unsigned next = 0;  // whose turn it is
  fp_turn turn = {0, 0};
  FP_ONE_BY_ONE
  for (unsigned tile = fp_block(); tile < a.tiles; tile += fp_blocks()) {
    const fp_tile first = fp_tile_of(tile);
    fp_window window = fp_window_of(a, first.pixel + fp_thread() % FP_GATHERERS);
    FP_ONE_BY_ONE
    for (unsigned step = 0; step < FP_STEPS; ++step) {
      if (next == group) fp_fill_stage(a, s, turn, window, step, first.channel);
      next = next + 1 == FP_PRODUCERS ? 0 : next + 1;
      FP_UNROLL
      for (int r = 0; r < FP_R; ++r) window.row[r] += FP_CHANNELS_AT_ONCE * a.input_stride[1];
      fp_next(turn);
    }
  }
}

FP_KERNEL_HOPPER(fp_conv_gather, FP_THREADS) {
  FP_SHARED_HOPPER(arena);
  const fp_shared s = fp_shared_of(arena);
  if (FP_RESIDENT) fp_gather_filters(a, s.filters);
  // One arrival of each warp, and the one that says how much the copy engine brings.
  fp_start(s, FP_GATHERERS / 32 + (FP_RESIDENT ? 0 : 1));
  // 512 threads start with 128 registers each; this moves them to those who gather.
  if (fp_warp() < FP_PRODUCERS * 4) {
    if constexpr (FP_PRODUCERS == 2) fp_regs_more<152>();
    fp_produce(a, s);
  } else {
    if constexpr (FP_PRODUCERS == 2) fp_regs_less<104>();
    fp_consume(a, s);
  }
}
