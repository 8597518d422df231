// SPDX-License-Identifier: MIT
// fp_conv.h's matrix product on the tensor cores: f16, bf16, or f32 as tf32, with sums in f32. A
// block computes FP_BM x FP_BN sums in FP_WARPS_M x FP_WARPS_N parts, each by FP_WARPS_K warps that
// share its depth. Shared memory is a ring of FP_STAGES stages; a stage holds, of each row and
// column, FP_CHUNKS chunks of 16 bytes along the depth. A chunk that lies together in memory is
// copied there (cp.async); another is gathered value by value. In the end the tile passes through
// shared memory, so that threads run along memory in the chain. With FP_SPLIT blocks for a tile
// each sums up a part of its depth; they are a cluster, in which each adds up and finishes some
// rows.

#define FP_STEP (FP_CHUNKS * FP_EACH)
#define FP_STEPS ((FP_DEPTH + FP_STEP - 1) / FP_STEP)
#define FP_LOADS_A (FP_BM * FP_CHUNKS / FP_THREADS)
#define FP_LOADS_B ((FP_BN * FP_CHUNKS + FP_THREADS - 1) / FP_THREADS)
#define FP_COLUMNS_AT (FP_BM * FP_CHUNKS * 16)
#define FP_STAGE (FP_COLUMNS_AT + FP_BN * FP_CHUNKS * 16)
#define FP_AHEAD (FP_STAGES - 1)
// Rows and columns of a warp.
#define FP_WM (FP_BM / FP_WARPS_M)
#define FP_WN (FP_BN / FP_WARPS_N)
#define FP_WARPS_MN (FP_WARPS_M * FP_WARPS_N)

// A place in a stage. Chunks change places within rows so that 8 rows' chunks at equal depth, which
// are read and written together, lie in different banks.
struct fp_slot {
  unsigned row, chunk;
};
FP_FN unsigned fp_slot_at(unsigned row, unsigned chunk) {
  return (row * FP_CHUNKS + (chunk ^ row / (8 / FP_CHUNKS) % FP_CHUNKS)) * 16;
}
// Neighbouring threads load what are neighbours in memory.
template <bool copied>
FP_FN fp_slot fp_row_slot(int load) {
  const unsigned at = fp_thread() + load * FP_THREADS;
  if (FP_PIXELS_INNER && !copied) return {at % FP_BM, at / FP_BM};
  return {at / FP_CHUNKS, at % FP_CHUNKS};
}
FP_FN fp_slot fp_column_slot(int load) {
  const unsigned at = fp_thread() + load * FP_THREADS;
  return {at / FP_CHUNKS, at % FP_CHUNKS};
}

// A step's loads: copies go to `stage`, what is gathered waits in registers.
struct fp_gathered {
  fp_vec a[FP_LOADS_A], b[FP_LOADS_B];
};
template <bool copied>
FP_FN void fp_load_rows(const fp_args& a, const fp_pixel* pixels, unsigned depth, unsigned stage,
                        fp_gathered& gathered) {
  FP_UNROLL
  for (int i = 0; i < FP_LOADS_A; ++i) {
    const fp_slot slot = fp_row_slot<copied>(i);
    const unsigned d = depth + slot.chunk * FP_EACH;
    if constexpr (copied) {
      const fp_tap tap = fp_tap_of(d);
      const bool there = d < FP_DEPTH && fp_is_inside(a, pixels[i], tap);
      const long long at = there ? pixels[i].at + fp_tap_offset(a, tap) : 0;
      fp_cp16(stage + fp_slot_at(slot.row, slot.chunk),
              static_cast<const char*>(a.input) + at * (16 / FP_EACH), there);
    } else {
      gathered.a[i] = fp_gather_input(a, pixels[i], d);
    }
  }
}
template <bool copied>
FP_FN void fp_load_columns(const fp_args& a, const fp_tile& tile, unsigned depth, unsigned stage,
                           fp_gathered& gathered) {
  FP_UNROLL
  for (int i = 0; i < FP_LOADS_B; ++i) {
    const fp_slot slot = fp_column_slot(i);
    if (slot.row >= FP_BN) break;
    const unsigned d = depth + slot.chunk * FP_EACH, k = tile.channel + slot.row;
    if constexpr (copied) {
      const bool there = d < FP_DEPTH && k < FP_K;
      const long long at = there ? fp_filter_offset(tile, k, d, {}) : 0;
      fp_cp16(stage + FP_COLUMNS_AT + fp_slot_at(slot.row, slot.chunk),
              static_cast<const char*>(a.weights) + at * (16 / FP_EACH), there);
    } else {
      gathered.b[i] = fp_gather_weights(a, tile, k, d);
    }
  }
}
// Everything chunk by chunk, in little code: for launches whose addresses are not those of the wide
// accesses that the source provides for. Columns follow rows in a stage.
FP_FN void fp_gather_step(const fp_args& a, const fp_tile& tile, unsigned depth, unsigned stage) {
  FP_ONE_BY_ONE
  for (unsigned at = fp_thread(); at < (FP_BM + FP_BN) * FP_CHUNKS; at += FP_THREADS) {
    const unsigned row = at / FP_CHUNKS, chunk = at % FP_CHUNKS, d = depth + chunk * FP_EACH;
    const fp_vec words = row < FP_BM
                             ? fp_gather_input(a, fp_pixel_of(a, tile.pixel + row, tile.group), d)
                             : fp_gather_weights(a, tile, tile.channel + row - FP_BM, d);
    fp_st16(stage + fp_slot_at(row, chunk), words);
  }
}
FP_FN bool fp_is_wide(const fp_args& a) { return !FP_WIDE || a.wide; }

// The block's part of the depth; the last blocks of a cluster may have less, or nothing.
struct fp_depth {
  unsigned first, steps;
};
#if FP_SPLIT > 1
#define FP_SPLIT_STEPS ((FP_STEPS + FP_SPLIT - 1) / FP_SPLIT)
FP_FN unsigned fp_block_tile() { return fp_cluster(); }
FP_FN fp_depth fp_block_depth() {
  const unsigned first = fp_cluster_rank() * FP_SPLIT_STEPS;
  const unsigned left = first < FP_STEPS ? FP_STEPS - first : 0;
  return {first, left < FP_SPLIT_STEPS ? left : FP_SPLIT_STEPS};
}
#else
FP_FN unsigned fp_block_tile() { return fp_block(); }
FP_FN fp_depth fp_block_depth() { return {0, FP_STEPS}; }
#endif

FP_FN void fp_load_step(const fp_args& a, const fp_tile& tile, const fp_pixel* pixels,
                        const fp_depth& depth, unsigned step, unsigned stage,
                        fp_gathered& gathered) {
  if (step < depth.steps) {
    const unsigned first = (depth.first + step) * FP_STEP;
    if (fp_is_wide(a)) {
      fp_load_rows<FP_COPY_INPUT>(a, pixels, first, stage, gathered);
      fp_load_columns<FP_COPY_WEIGHTS>(a, tile, first, stage, gathered);
    } else {
      fp_gather_step(a, tile, first, stage);
    }
  }
  fp_cp_commit();
}
FP_FN void fp_put_down(const fp_args& a, const fp_depth& depth, unsigned step, unsigned stage,
                       const fp_gathered& gathered) {
  if (step >= depth.steps || !fp_is_wide(a)) return;
  if constexpr (!FP_COPY_INPUT) {
    FP_UNROLL
    for (int i = 0; i < FP_LOADS_A; ++i) {
      const fp_slot slot = fp_row_slot<false>(i);
      fp_st16(stage + fp_slot_at(slot.row, slot.chunk), gathered.a[i]);
    }
  }
  if constexpr (!FP_COPY_WEIGHTS) {
    FP_UNROLL
    for (int i = 0; i < FP_LOADS_B; ++i) {
      const fp_slot slot = fp_column_slot(i);
      if (slot.row >= FP_BN) break;
      fp_st16(stage + FP_COLUMNS_AT + fp_slot_at(slot.row, slot.chunk), gathered.b[i]);
    }
  }
}

// Warps are numbered along rows, then columns, then depth.
FP_FN unsigned fp_lane() { return fp_thread() % 32; }
FP_FN unsigned fp_warp_m() { return fp_thread() / 32 % FP_WARPS_M; }
FP_FN unsigned fp_warp_n() { return fp_thread() / 32 / FP_WARPS_M % FP_WARPS_N; }
FP_FN unsigned fp_warp_k() { return fp_thread() / 32 / FP_WARPS_MN; }

using fp_sums = float[FP_WM / 16][FP_WN / 8][4];

FP_FN void fp_load_fragments(unsigned (&to)[4], unsigned address) {
  fp_ldsm4(to, address);
  if constexpr (FP_INPUT == FP_F32) {
    FP_UNROLL
    for (int i = 0; i < 4; ++i) to[i] = fp_to_tf32(to[i]);
  }
}
FP_FN void fp_multiply(unsigned stage, fp_sums& sums) {
  const unsigned lane = fp_lane(), row = fp_warp_m() * FP_WM + lane % 16;
  const unsigned column = fp_warp_n() * FP_WN + lane % 8 + lane / 16 * 8;
  FP_UNROLL
  for (int k = 0; k < FP_CHUNKS / 2 / FP_WARPS_K; ++k) {
    const unsigned chunk = (k * FP_WARPS_K + fp_warp_k()) * 2;
    unsigned m[FP_WM / 16][4], n[FP_WN / 16][4];
    FP_UNROLL
    for (int i = 0; i < FP_WM / 16; ++i)
      fp_load_fragments(m[i], stage + fp_slot_at(row + i * 16, chunk + lane / 16));
    FP_UNROLL
    for (int j = 0; j < FP_WN / 16; ++j)
      fp_load_fragments(n[j],
                        stage + FP_COLUMNS_AT + fp_slot_at(column + j * 16, chunk + lane / 8 % 2));
    FP_UNROLL
    for (int i = 0; i < FP_WM / 16; ++i) {
      FP_UNROLL
      for (int j = 0; j < FP_WN / 8; ++j)
        fp_mma<FP_INPUT>(sums[i][j], m[i], n[j / 2][j % 2 * 2], n[j / 2][j % 2 * 2 + 1]);
    }
  }
}

// The sums of warps that shared a part's depth, in order, by the first of them.
FP_FN void fp_add_depths(fp_sums& sums, float* shared) {
  constexpr int each = FP_WM * FP_WN;
  float* const part = shared + fp_thread() / 32 % FP_WARPS_MN * each + fp_lane();
  fp_barrier();
  FP_UNROLL
  for (int i = 0; i < each / 32; ++i) {
    float& sum = sums[i / 4 / (FP_WN / 8)][i / 4 % (FP_WN / 8)][i % 4];
    if (fp_warp_k() > 0) part[(fp_warp_k() - 1) * (FP_WARPS_MN * each) + i * 32] = sum;
  }
  fp_barrier();
  if (fp_warp_k() > 0) return;
  FP_UNROLL
  for (int i = 0; i < each / 32; ++i) {
    float& sum = sums[i / 4 / (FP_WN / 8)][i / 4 % (FP_WN / 8)][i % 4];
    FP_UNROLL
    for (int k = 0; k + 1 < FP_WARPS_K; ++k) sum += part[k * (FP_WARPS_MN * each) + i * 32];
  }
}

FP_FN void fp_stage_sums(const fp_sums& sums, float* part) {
  FP_UNROLL
  for (int i = 0; i < FP_WM / 16; ++i) {
    FP_UNROLL
    for (int j = 0; j < FP_WN / 8; ++j) {
      FP_UNROLL
      for (int e = 0; e < 4; ++e)
        part[(i * 16 + fp_sum_row(fp_lane(), e)) * FP_PART_ROW + fp_warp_n() * FP_WN + j * 8 +
             fp_sum_column(fp_lane(), e)] = sums[i][j][e];
    }
  }
}
// The chain over FP_PART_M rows of the tile, from row `m` on.
FP_FN void fp_finish_rows(const fp_args& a, const fp_tile& tile, unsigned m, const float* part,
                          const float* staged) {
  const fp_tile rows = {tile.pixel + m, tile.channel, tile.group};
  if constexpr (FP_OUT_PIXELS) {
    fp_finish_along_pixels(a, rows, part, staged);
  } else if (FP_WIDE_OUTPUT && a.wide) {
    fp_finish_along_channels<FP_WIDE_OUTPUT ? 8 : 1>(a, rows, part);
  } else {
    fp_finish_along_channels<1>(a, rows, part);
  }
}
#if FP_SPLIT > 1
// All of the block's sums go to shared memory. It reads its rows of all blocks and puts their sums,
// in order of rank, over its own: those no other block reads.
FP_FN void fp_finish(const fp_args& a, const fp_tile& tile, const fp_sums& sums, float* shared) {
  float* const staged = shared + FP_BM * FP_PART_ROW;
  fp_barrier();
  if (FP_OUT_PIXELS) fp_stage_channels(a, tile, staged);
  if (fp_warp_k() == 0) fp_stage_sums(sums, shared + fp_warp_m() * FP_WM * FP_PART_ROW);
  fp_cluster_barrier();
  const unsigned row = fp_cluster_rank() * FP_PART_M;
  float* const part = shared + row * FP_PART_ROW;
  FP_ONE_BY_ONE
  for (unsigned at = fp_thread(); at < FP_PART_M * FP_BN; at += FP_THREADS) {
    float* const mine = part + at / FP_BN * FP_PART_ROW + at % FP_BN;
    float sum = 0.0f;
    FP_UNROLL
    for (unsigned rank = 0; rank < FP_SPLIT; ++rank) sum += fp_cluster_load(mine, rank);
    *mine = sum;
  }
  fp_cluster_arrive();
  fp_barrier();
  fp_finish_rows(a, tile, row, part, staged);
  fp_cluster_wait();
}
#else
FP_FN void fp_finish(const fp_args& a, const fp_tile& tile, const fp_sums& sums, float* part) {
  float* const staged = part + FP_PART_M * FP_PART_ROW;
  FP_ONE_BY_ONE
  for (unsigned m = 0; m < FP_WARPS_M; ++m) {
    fp_barrier();
    if (FP_OUT_PIXELS && m == 0) fp_stage_channels(a, tile, staged);
    if (fp_warp_k() == 0 && fp_warp_m() == m) fp_stage_sums(sums, part);
    fp_barrier();
    fp_finish_rows(a, tile, m * FP_PART_M, part, staged);
  }
}
#endif

// Before sm_80 there is shared memory for one.
FP_KERNEL_BLOCKS(fp_conv_tensor, FP_THREADS, (FP_HAS_ASYNC ? FP_BLOCKS : 1)) {
  FP_SHARED(shared);
  const unsigned ring = fp_shared_at(shared);
  const fp_tile tile = fp_tile_of(fp_block_tile());
  const fp_depth depth = fp_block_depth();
  fp_pixel pixels[FP_LOADS_A];
  FP_UNROLL
  for (int i = 0; i < FP_LOADS_A; ++i)
    pixels[i] = fp_pixel_of(a, tile.pixel + fp_row_slot<FP_COPY_INPUT>(i).row, tile.group);

  fp_sums sums;
  FP_UNROLL
  for (int i = 0; i < FP_WM * FP_WN / 32; ++i)
    sums[i / 4 / (FP_WN / 8)][i / 4 % (FP_WN / 8)][i % 4] = 0.0f;
  fp_gathered gathered;
  // Loads are FP_AHEAD steps ahead. Gathering is much code: then it stands in one loop, whose first
  // turns only load. Copying is little, and a loop of its own takes fewer registers.
  constexpr unsigned first = FP_COPY_INPUT ? FP_AHEAD : 0;
  FP_ONE_BY_ONE
  for (unsigned step = 0; step < first; ++step) {
    fp_load_step(a, tile, pixels, depth, step, ring + step * FP_STAGE, gathered);
    fp_put_down(a, depth, step, ring + step * FP_STAGE, gathered);
  }
  FP_ONE_BY_ONE
  for (unsigned next = first; next < depth.steps + FP_AHEAD; ++next) {
    const unsigned step = next - FP_AHEAD, free = ring + next % FP_STAGES * FP_STAGE;
    fp_cp_wait<FP_STAGES - 2>();
    fp_barrier();
    fp_load_step(a, tile, pixels, depth, next, free, gathered);
    if (first == FP_AHEAD || next >= FP_AHEAD)
      fp_multiply(ring + step % FP_STAGES * FP_STAGE, sums);
    fp_put_down(a, depth, next, free, gathered);
  }
  if constexpr (FP_WARPS_K > 1) fp_add_depths(sums, shared);
  fp_finish(a, tile, sums, shared);
}
