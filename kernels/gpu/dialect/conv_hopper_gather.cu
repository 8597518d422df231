// SPDX-License-Identifier: MIT
// Pixels that lie in any order in memory: a warpgroup gathers them, neighbouring threads from
// neighbouring pixels, and put each pixel's row of 64 into shared memory. Depth is counted as a
// filter lies in memory, so that the copy engine fetches filters as they are; where they do not
// start at multiples of 16 bytes, they are gathered as well.

#define FP_GATHERERS 128
#define FP_MINE (FP_BM / FP_GATHERERS)  // pixels of a thread
// Taps are bits of a pixel's mask: numbered where there are more than a register has.
#define FP_FEW_TAPS (FP_TAPS <= 32)
#define FP_NO_TAP (FP_FEW_TAPS ? 0u : 63u)
static_assert(FP_TAPS <= 63, "a mask has 64 bits");

// Where a step of the depth reads, from a pixel's first tap on, and by which tap.
struct fp_depth {
  unsigned at, tap;
};
FP_FN fp_depth* fp_depths(const fp_shared& s) { return (fp_depth*)(s.empty + FP_STAGES); }
FP_FN void fp_fill_depths(const fp_args& a, fp_depth* depths) {
  FP_ONE_BY_ONE
  for (unsigned d = fp_thread(); d < FP_STEPS * 64; d += FP_THREADS) {
    const fp_tap tap = fp_tap_of(d);
    const unsigned number = tap.r * FP_S + tap.s;
    depths[d].at = (unsigned)fp_tap_offset(a, tap);
    depths[d].tap = d >= FP_DEPTH ? FP_NO_TAP : FP_FEW_TAPS ? 1u << number % 32 : number;
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

FP_FN unsigned fp_has(unsigned long long inside, unsigned tap) {
  return FP_FEW_TAPS ? (unsigned)inside & tap : (unsigned)(inside >> tap) & 1u;
}
FP_FN void fp_load_row(const void* pixel, unsigned long long inside, const fp_depth* depths,
                       unsigned (&bits)[64]) {
  FP_UNROLL
  for (unsigned i = 0; i < 64; i += 2) {
    const fp_vec two = *(const fp_vec*)(depths + i);
    bits[i] = fp_get16_if(fp_has(inside, two.w[1]), pixel, two.w[0]);
    bits[i + 1] = fp_get16_if(fp_has(inside, two.w[3]), pixel, two.w[2]);
  }
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

// The rows that a thread gathers, one after the other: pixels of a step, steps of a tile, tiles.
struct fp_rows {
  unsigned tile, step, mine;
  const void* pixel[FP_MINE];
  unsigned long long inside[FP_MINE];
};
FP_FN void fp_start_tile(const fp_args& a, fp_rows& rows) {
  FP_UNROLL
  for (unsigned i = 0; i < FP_MINE; ++i) {
    const fp_pixel pixel =
        fp_pixel_of(a, fp_tile_of(rows.tile).pixel + fp_thread() + i * FP_GATHERERS, 0);
    rows.pixel[i] = (const unsigned short*)a.input + pixel.at;
    rows.inside[i] = fp_taps_inside(a, pixel);
  }
}
// Loads the next row, if there is one.
FP_FN void fp_load_next(const fp_args& a, const fp_depth* depths, fp_rows& rows,
                        unsigned (&bits)[64]) {
  if (rows.tile >= a.tiles) return;
  if (rows.step == 0 && rows.mine == 0) fp_start_tile(a, rows);
  const unsigned last = FP_MINE - 1;
  fp_load_row(rows.mine == 0 ? rows.pixel[0] : rows.pixel[last],
              rows.mine == 0 ? rows.inside[0] : rows.inside[last], depths + rows.step * 64, bits);
  if (++rows.mine < FP_MINE) return;
  rows.mine = 0;
  if (++rows.step < FP_STEPS) return;
  rows.step = 0;
  rows.tile += fp_blocks();
}

// A row's loads are on their way while the one before is put into shared memory. Only that waits
// for a stage to be free.
FP_FN void fp_produce(const fp_args& a, const fp_shared& s) {
  const fp_depth* depths = fp_depths(s);
  fp_rows loads = {fp_block(), 0, 0, {}, {}};
  unsigned bits[2][64];
  fp_load_next(a, depths, loads, bits[0]);
  fp_turn turn = {0, 0};
  unsigned tile = fp_block(), step = 0, mine = 0;
  FP_ONE_BY_ONE
  while (tile < a.tiles) {
    FP_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      if (tile >= a.tiles) break;
      fp_load_next(a, depths, loads, bits[1 - half]);
      unsigned char* to = s.stages + turn.stage * FP_BYTES_STAGE;
      fp_mbar* full = s.full + turn.stage;
      if (mine == 0) {
        fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);
        const fp_tile first = fp_tile_of(tile);
        if (FP_GATHER_WEIGHTS) {
          fp_gather_filters(a, first, step, to + FP_BYTES_A);
        } else if (fp_thread() == 0) {
          fp_mbar_expect(full, FP_BN * FP_ROW_BYTES);
          fp_tma_load(to + FP_BYTES_A, a.weight_map, full, (int)step * 64, (int)first.channel, 0,
                      0);
        }
      }
      FP_UNROLL
      for (unsigned piece = 0; piece < 8; ++piece)
        fp_put_piece(to, fp_thread() + mine * FP_GATHERERS, piece, fp_pack(bits[half] + 8 * piece));
      if (++mine < FP_MINE) continue;
      mine = 0;
      fp_fence_async();
      fp_warp_barrier();
      if (fp_thread() % 32 == 0) fp_mbar_arrive(full);
      fp_next(turn);
      if (++step < FP_STEPS) continue;
      step = 0;
      tile += fp_blocks();
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
