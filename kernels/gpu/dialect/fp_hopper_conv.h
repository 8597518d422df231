// SPDX-License-Identifier: MIT
// What kernels on Hopper's tensor cores have in common. Convolution as an implicit matrix product:
// rows are output pixels of the batch, columns output channels, depth comes in pieces of 128 bytes.
// The first FP_PRODUCERS warpgroups keep FP_STAGES tiles of both factors coming, in rows of 128
// bytes whose 16-byte pieces are swizzled; two more multiply, FP_ROWS rows each, run the chain on
// their sums and store. Blocks stay and take tile after tile. Where FP_RESIDENT, filters stay in
// shared memory, FP_FILTER_ROWS for each step: all of them, or, of packed groups, those of a tile's
// channels.

#define FP_THREADS ((FP_PRODUCERS + 2) * 128)
#define FP_ROWS (FP_BM / 2)
#define FP_PARTS (FP_BM / 128)  // products of 64 rows that make up a consumer's
#define FP_SUMS (FP_BN / 2)     // of a thread, in each part
#define FP_ROW_BYTES 128
#define FP_ROW_VALUES (FP_INPUT == FP_F32 ? 32 : 64)
#define FP_BYTES_A (FP_BM * FP_ROW_BYTES)
#define FP_BYTES_STAGE ((FP_BM + (FP_RESIDENT ? 0 : FP_BN)) * FP_ROW_BYTES)
#define FP_BYTES_FILTERS (FP_RESIDENT ? FP_STEPS * FP_FILTER_ROWS * FP_ROW_BYTES : 0)
// How results leave: as FP_STORE says.
#define FP_BY_BOXES 1   // by the copy engine, 64 rows of 64 channels at once, in two buffers
#define FP_BY_PLANES 2  // by threads whose neighbours store the next pixels of the same channel
#define FP_BYTES_BOX (64 * FP_ROW_BYTES)
#define FP_PLANES 32  // channels that are in shared memory at once
#define FP_PLANE 68   // floats from one to the next: 64 pixels, and what spreads them over banks
#define FP_BYTES_PLANES (FP_PLANES * FP_PLANE * 4)
#define FP_BYTES_RESULTS \
  (FP_STORE == FP_BY_BOXES ? 4 * FP_BYTES_BOX : FP_STORE == FP_BY_PLANES ? 2 * FP_BYTES_PLANES : 0)
#define FP_BARRIER_BOTH 1  // of the two consumers; each has one of its own after it
#define FP_BARRIER_ONE 2

struct fp_shared {
  unsigned char* stages;
  unsigned char* filters;
  unsigned char* results;
  float* channels;
  fp_mbar *full, *empty;
};
FP_FN fp_shared fp_shared_of(unsigned char* arena) {
  fp_shared s;
  s.stages = arena;
  s.filters = s.stages + FP_STAGES * FP_BYTES_STAGE;
  s.results = s.filters + FP_BYTES_FILTERS;
  s.channels = (float*)(s.results + FP_BYTES_RESULTS);
  s.full = (fp_mbar*)(s.channels + FP_CHANNELS * FP_BN);
  s.empty = s.full + FP_STAGES;
  return s;
}

// A 16-byte piece of a row of 128, as the copy engine and the tensor cores swizzle them.
FP_FN unsigned char* fp_piece_at(unsigned char* rows, unsigned row, unsigned piece) {
  return rows + row * FP_ROW_BYTES + (piece ^ row % 8) * 16;
}

FP_FN unsigned fp_consumer() { return fp_thread() / 128 - FP_PRODUCERS; }

// A stage and the parity of the phase that is waited for.
struct fp_turn {
  unsigned stage, parity;
};
FP_FN void fp_next(fp_turn& turn) {
  if (++turn.stage == FP_STAGES) {
    turn.stage = 0;
    turn.parity ^= 1;
  }
}

// The tiles of a block: every fp_blocks()-th, channels fastest, so that blocks share pixels. Of
// packed groups neighbours, pixels fastest, so that filters stay.
struct fp_tiles {
  unsigned next, end, step;
};
FP_FN fp_tiles fp_tiles_of(const fp_args& a) {
  if (FP_PACKED == 0) return {fp_block(), a.tiles, fp_blocks()};
  const unsigned share = (a.tiles + fp_blocks() - 1) / fp_blocks(), first = fp_block() * share;
  return {first, first + share < a.tiles ? first + share : a.tiles, 1};
}
FP_FN fp_tile fp_tile_at(const fp_args& a, unsigned tile) {
  if (FP_PACKED == 0) return fp_tile_of(tile);
  const unsigned rows = a.tiles / FP_TILES_N;
  return {tile % rows * FP_BM, tile / rows * FP_BN, 0};
}

// One arrival of each warp: its own reads are over.
FP_FN void fp_release(const fp_shared& s, unsigned stage) {
  if (fp_thread() % 32 == 0) fp_mbar_arrive(s.empty + stage);
}

FP_FN void fp_multiply(const fp_shared& s, unsigned consumer, unsigned k, fp_turn& turn,
                       float (&sums)[FP_PARTS][FP_SUMS]) {
  unsigned before = 0;
  FP_ONE_BY_ONE
  for (unsigned step = 0; step < FP_STEPS; ++step) {
    const unsigned char* stage = s.stages + turn.stage * FP_BYTES_STAGE;
    const unsigned char* rows = stage + consumer * FP_ROWS * FP_ROW_BYTES;
    const unsigned char* filters =
        FP_RESIDENT ? s.filters + (step * FP_FILTER_ROWS + (FP_PACKED ? 0 : k)) * FP_ROW_BYTES
                    : stage + FP_BYTES_A;
    fp_mbar_wait(s.full + turn.stage, turn.parity);
    fp_wgmma_fence();
    FP_UNROLL
    for (unsigned i = 0; i < FP_PRODUCTS; ++i) {
      FP_UNROLL
      for (int part = 0; part < FP_PARTS; ++part)
        fp_wgmma<FP_INPUT, FP_BN>(sums[part], rows + part * 64 * FP_ROW_BYTES + i * 32,
                                  filters + i * 32, step + i);
    }
    fp_wgmma_commit();
    fp_wgmma_wait<1>();
    if (step > 0) fp_release(s, before);
    before = turn.stage;
    fp_next(turn);
  }
  fp_wgmma_wait<0>();
  FP_UNROLL
  for (int part = 0; part < FP_PARTS; ++part) fp_wgmma_ready(sums[part]);
  fp_release(s, before);
}

// Before the groups of warps part: `arrivals` of producers end a stage's filling.
FP_FN void fp_start(const fp_shared& s, unsigned arrivals) {
  if (fp_thread() == 0) {
    for (unsigned stage = 0; stage < FP_STAGES; ++stage) {
      fp_mbar_init(s.full + stage, arrivals);
      fp_mbar_init(s.empty + stage, 8);
    }
    fp_mbar_publish();
  }
  fp_barrier();
}

// As the copy engine rounds factors for the tensor cores: f32 to the nearest tf32, ties to even.
FP_FN float fp_load_factor(const void* base, long long index) {
  const float value = fp_load<FP_INPUT>(base, index);
  if (FP_INPUT != FP_F32) return value;
  const unsigned bits = fp_as_bits(value);
  if ((bits >> 23 & 255u) == 255u) return value;
  return fp_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}
