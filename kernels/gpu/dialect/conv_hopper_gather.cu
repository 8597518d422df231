// SPDX-License-Identifier: MIT
// Pixels that lie in any order in memory: a warpgroup gathers them, neighbouring threads from
// neighbouring pixels, and put each pixel's row of 64 into shared memory. Depth is counted as a
// filter lies in memory, so that the copy engine fetches filters as they are; where they do not
// start at multiples of 16 bytes, they are gathered as well.

#define FP_GATHERERS 128
#define FP_MINE (FP_BM / FP_GATHERERS)  // pixels of a thread
#define FP_TAP_SHIFT 26  // an entry of the table: where its value lies, and above it the tap
#define FP_NO_TAP 63u
static_assert(FP_TAPS <= FP_NO_TAP, "a tap is a bit of a pixel's mask");

// Where each step of the depth reads, from a pixel's first tap on.
FP_FN unsigned* fp_depths(const fp_shared& s) { return (unsigned*)(s.empty + FP_STAGES); }
FP_FN void fp_fill_depths(const fp_args& a, unsigned* depths) {
  FP_ONE_BY_ONE
  for (unsigned d = fp_thread(); d < FP_STEPS * 64; d += FP_THREADS) {
    const fp_tap tap = fp_tap_of(d);
    depths[d] = d < FP_DEPTH ? (unsigned)fp_tap_offset(a, tap) | (unsigned)(tap.r * FP_S + tap.s)
                                                                     << FP_TAP_SHIFT
                             : FP_NO_TAP << FP_TAP_SHIFT;
  }
}

// The taps of a pixel that are inside the image, as bits.
FP_FN unsigned long long fp_taps_inside(const fp_args& a, const fp_pixel& pixel) {
  unsigned long long row = 0, all = 0;
  FP_UNROLL
  for (int s = 0; s < FP_S; ++s)
    if ((unsigned)(pixel.w + s * FP_DILATION_W) < a.input_w) row |= 1ull << s;
  FP_UNROLL
  for (int r = 0; r < FP_R; ++r)
    if ((unsigned)(pixel.h + r * FP_DILATION_H) < a.input_h) all |= row << (r * FP_S);
  return all;
}

FP_FN void fp_put_piece(unsigned char* rows, unsigned row, unsigned piece, const fp_vec& words) {
  fp_st16_async(rows + row * FP_ROW_BYTES + (piece ^ row % 8) * 16, words);
}

// All loads of a row before the first use: what hides their latency is that they are many.
FP_FN void fp_gather_row(const fp_args& a, const fp_pixel& pixel, unsigned long long inside,
                         const unsigned* depths, unsigned char* to, unsigned row) {
  unsigned bits[64];
  FP_UNROLL
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned entry = depths[i], at = entry & ((1u << FP_TAP_SHIFT) - 1);
    bits[i] = (inside >> (entry >> FP_TAP_SHIFT) & 1) != 0
                  ? fp_bits<FP_INPUT>(a.input, pixel.at + at)
                  : 0u;
  }
  FP_UNROLL
  for (unsigned piece = 0; piece < 8; ++piece)
    fp_put_piece(to, row, piece, fp_pack(bits + 8 * piece));
}

FP_FN void fp_gather_filters(const fp_args& a, const fp_tile& first, unsigned step,
                             unsigned char* to) {
  FP_ONE_BY_ONE
  for (unsigned i = fp_thread(); i < FP_BN * 8; i += FP_GATHERERS) {
    const unsigned row = i % FP_BN, piece = i / FP_BN;
    fp_put_piece(to, row, piece,
                 fp_gather_weights(a, first, first.channel + row, step * 64 + piece * 8));
  }
}

FP_FN void fp_produce(const fp_args& a, const fp_shared& s) {
  const unsigned* depths = fp_depths(s);
  fp_turn turn = {0, 0};
  FP_ONE_BY_ONE
  for (unsigned tile = fp_block(); tile < a.tiles; tile += fp_blocks()) {
    const fp_tile first = fp_tile_of(tile);
    fp_pixel pixels[FP_MINE];
    unsigned long long inside[FP_MINE];
    FP_UNROLL
    for (unsigned i = 0; i < FP_MINE; ++i) {
      pixels[i] = fp_pixel_of(a, first.pixel + fp_thread() + i * FP_GATHERERS, 0);
      inside[i] = fp_taps_inside(a, pixels[i]);
    }
    FP_ONE_BY_ONE
    for (unsigned step = 0; step < FP_STEPS; ++step) {
      unsigned char* to = s.stages + turn.stage * FP_BYTES_STAGE;
      fp_mbar* full = s.full + turn.stage;
      fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);
      if (FP_GATHER_WEIGHTS) {
        fp_gather_filters(a, first, step, to + FP_BYTES_A);
      } else if (fp_thread() == 0) {
        fp_mbar_expect(full, FP_BN * FP_ROW_BYTES);
        fp_tma_load(to + FP_BYTES_A, a.weight_map, full, (int)step * 64, (int)first.channel, 0, 0);
      }
      FP_UNROLL
      for (unsigned i = 0; i < FP_MINE; ++i)
        fp_gather_row(a, pixels[i], inside[i], depths + step * 64, to,
                      fp_thread() + i * FP_GATHERERS);
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
  fp_fill_depths(a, fp_depths(s));
  // One arrival of each warp, and the one that says how much the copy engine brings.
  fp_start(s, FP_GATHERERS / 32 + (FP_GATHER_WEIGHTS ? 0 : 1));
  if (fp_warp() < FP_GATHERERS / 32) {
    fp_produce(a, s);
  } else {
    fp_consume(a, s);
  }
}
