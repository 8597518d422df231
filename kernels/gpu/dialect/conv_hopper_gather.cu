// SPDX-License-Identifier: MIT
// Pixels that lie in any order in memory: threads gather them, in groups that take steps in turn. A
// step is all taps of some channels; the rest of its 64 values are zeros. Filters that lie in the
// order of steps are fetched by the copy engine, from the multiple of 16 bytes before the step's
// first value on, which is as far behind the first in the pixels' rows; others are gathered once
// and stay.

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

// Shifts are known when this is compiled: registers have no indices.
template <unsigned shift, class window>
FP_FN void fp_put_shifted(const window& from, unsigned step, const typename window::values& bits,
                          unsigned thread, unsigned char* to, unsigned wanted) {
  if constexpr (shift + FP_SHIFT_UNIT < 8) {
    if (wanted != shift)
      return fp_put_shifted<shift + FP_SHIFT_UNIT>(from, step, bits, thread, to, wanted);
  }
  fp_put_values<shift>(from, step, bits, thread, to);
}

template <class window>
FP_FN void fp_fill_stage(const fp_args& a, const fp_shared& s, const fp_turn& turn,
                         const window& from, unsigned step, unsigned k) {
  typename window::values bits;
  fp_load_values(a, from, step, bits);
  const unsigned thread = fp_thread() % window::threads;
  unsigned char* to = s.stages + turn.stage * FP_BYTES_STAGE;
  fp_mbar* full = s.full + turn.stage;
  const unsigned start = step * FP_VALUES, shift = FP_RESIDENT ? 0 : start % 8;
  fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);
  if (!FP_RESIDENT && thread == 0) {
    fp_mbar_expect(full, FP_BN * FP_ROW_BYTES);
    fp_tma_load(to + FP_BYTES_A, a.weight_map, full, (int)(start - shift), (int)k, 0, 0);
  }
  fp_put_shifted<0>(from, step, bits, thread, to, shift);
  fp_fence_async();
  fp_warp_barrier();
  if (thread % 32 == 0) fp_mbar_arrive(full);
}

template <class window>
FP_FN void fp_produce(const fp_args& a, const fp_shared& s) {
  constexpr unsigned groups = FP_PRODUCERS * 128 / window::threads;
  // Else a group could meet its stage's barrier two phases late, whose parity is that of now.
  static_assert(groups <= FP_STAGES, "a stage for each group");
  const unsigned group = fp_warp() * 32 / window::threads;
  const unsigned pixel = fp_thread() % window::threads * (FP_BM / window::threads);
  unsigned next = 0;  // whose turn it is
  fp_turn turn = {0, 0};
  const fp_tiles tiles = fp_tiles_of(a);
  FP_ONE_BY_ONE
  for (unsigned tile = tiles.next; tile < tiles.end; tile += tiles.step) {
    const fp_tile first = fp_tile_at(a, tile);
    window from;
    fp_find(a, first.pixel + pixel, from);
    FP_ONE_BY_ONE
    for (unsigned step = 0; step < FP_STEPS; ++step) {
      if (next == group) fp_fill_stage(a, s, turn, from, step, first.channel);
      next = next + 1 == groups ? 0 : next + 1;
      fp_advance(a, from);
      fp_next(turn);
    }
  }
}

template <class window>
FP_FN void fp_gather(const fp_args& a, unsigned char* arena) {
  const fp_shared s = fp_shared_of(arena);
  if (FP_RESIDENT) fp_gather_filters(a, s.filters);
  // One arrival of each warp, and the one that says how much the copy engine brings.
  fp_start(s, window::threads / 32 + (FP_RESIDENT ? 0 : 1));
  // 512 threads start with 128 registers each; this moves them to those who gather.
  if (fp_warp() < FP_PRODUCERS * 4) {
    if constexpr (FP_PRODUCERS == 2) fp_regs_more<152>();
    fp_produce<window>(a, s);
  } else {
    if constexpr (FP_PRODUCERS == 2) fp_regs_less<104>();
    fp_consume(a, s);
  }
}

FP_KERNEL_HOPPER(fp_conv_gather, FP_THREADS) {
  FP_SHARED_HOPPER(arena);
#if FP_PAIRS
  fp_gather<fp_pair_window>(a, arena);
#else
  fp_gather<fp_pixel_window>(a, arena);
#endif
}
