// SPDX-License-Identifier: MIT
// Pixels whose channels lie together: one thread has the copy engine fetch both factors, pixels by
// im2col copies, a tap's piece of 128 bytes of channels in a step; of packed groups pixels alone.

#define FP_PIECES (FP_PACKED ? FP_GROUP_PIECES : (FP_C + FP_ROW_VALUES - 1) / FP_ROW_VALUES)

FP_FN void fp_produce(const fp_args& a, const fp_shared& s) {
  fp_turn turn = {0, 0};
  const fp_tiles tiles = fp_tiles_of(a);
  FP_ONE_BY_ONE
  for (unsigned tile = tiles.next; tile < tiles.end; tile += tiles.step) {
    const fp_tile first = fp_tile_at(a, tile);
    const int image = fp_place_of(a, first.pixel).n;
    const fp_pixel corner = fp_pixel_of(a, first.pixel, 0);
    FP_ONE_BY_ONE
    for (unsigned step = 0; step < FP_STEPS; ++step) {
      const int c = (int)((FP_PACKED ? first.channel : 0u) + step % FP_PIECES * FP_ROW_VALUES);
      const int tap_r = step / FP_PIECES / FP_S, tap_s = step / FP_PIECES % FP_S;
      unsigned char* to = s.stages + turn.stage * FP_BYTES_STAGE;
      fp_mbar* full = s.full + turn.stage;
      fp_mbar_wait(s.empty + turn.stage, turn.parity ^ 1);
      fp_mbar_expect(full, FP_BYTES_STAGE);
      fp_tma_load_im2col(to, a.input_map, full, c, corner.w, corner.h, image,
                         (unsigned short)(tap_s * FP_DILATION_W),
                         (unsigned short)(tap_r * FP_DILATION_H));
      if (FP_PACKED == 0)
        fp_tma_load(to + FP_BYTES_A, a.weight_map, full, c, tap_s, tap_r, (int)first.channel);
      fp_next(turn);
    }
  }
}

FP_KERNEL_HOPPER(fp_conv_hopper, FP_THREADS) {
  FP_SHARED_HOPPER(arena);
  const fp_shared s = fp_shared_of(arena);
  if (fp_thread() == 0) {
    fp_tma_prefetch_map(a.input_map);
    if (FP_PACKED == 0) fp_tma_prefetch_map(a.weight_map);
  }
  fp_start(s, 1);
  // 384 threads start with 168 registers each; this moves them to those who hold the sums.
  if (fp_warp() < 4) {
    fp_regs_less<40>();
    if (fp_thread() == 0) fp_produce(a, s);
  } else {
    fp_regs_more<232>();
    fp_consume(a, s);
  }
}
