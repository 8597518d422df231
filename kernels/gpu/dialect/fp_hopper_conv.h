// SPDX-License-Identifier: MIT
// What kernels on Hopper's tensor cores have in common. Convolution as an implicit matrix product:
// rows are output pixels of the batch, columns output channels, depth comes in pieces of 128
// bytes. The
// first FP_PRODUCERS warpgroups keep FP_STAGES tiles of both factors coming, in rows of 128 bytes
// whose 16-byte pieces are swizzled; two more multiply, FP_ROWS rows each, run the chain on their
// sums and store. Blocks stay and take every fp_blocks()-th tile. Where FP_RESIDENT, all filters
// stay in shared memory, FP_FILTER_ROWS for each step.

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
        FP_RESIDENT ? s.filters + (step * FP_FILTER_ROWS + k) * FP_ROW_BYTES : stage + FP_BYTES_A;
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

// An output pixel: where its first channel lies in the output and the added tensors.
struct fp_row {
  long long out, element[FP_ELEMENTS + 1];
  bool inside;
};
FP_FN fp_row fp_row_of(const fp_args& a, unsigned pixel) {
  const fp_place at = fp_place_of(a, pixel);
  fp_row row;
  row.inside = pixel < a.pixels;
  row.out = fp_offset(a.output_stride, at, 0);
  FP_UNROLL
  for (int e = 0; e < FP_ELEMENTS; ++e) row.element[e] = fp_offset(a.element_stride[e], at, 0);
  return row;
}

template <int e>
FP_FN void fp_load_elements(const fp_args& a, const fp_row& row, long long channel, float* to) {
  if constexpr (e < FP_ELEMENTS) {
    to[e] = fp_load<fp_element_types[e]>(a.elements[e],
                                         row.element[e] + channel * a.element_stride[e][1]);
    fp_load_elements<e + 1>(a, row, channel, to);
  }
}

// Zero outside the output, where nothing may be read.
FP_FN float fp_result(const fp_args& a, const fp_row& row, unsigned channel, float sum,
                      const float* channels) {
  if ((FP_ELEMENTS > 0 || FP_READS_OUTPUT) && (!row.inside || channel >= FP_K)) return 0.0f;
  float elements[FP_ELEMENTS + 1];
  fp_load_elements<0>(a, row, channel, elements);
  const float before =
      FP_READS_OUTPUT ? fp_load<FP_OUTPUT>(a.output, row.out + channel * a.output_stride[1]) : 0.0f;
  return fp_chain(a, sum, before, channels, elements);
}

// The tile's channel values, computed once for both consumers.
FP_FN void fp_fill_channels(const fp_args& a, const fp_shared& s, unsigned k) {
  if constexpr (FP_CHANNELS > 0) {
    fp_named_barrier(FP_BARRIER_BOTH, 256);  // those of the tile before have been read
    FP_ONE_BY_ONE
    for (unsigned n = fp_thread() - FP_PRODUCERS * 128; n < FP_BN; n += 256) {
      float values[FP_CHANNELS + 1];
      fp_channels(a, k + n < FP_K ? k + n : FP_K - 1, values);
      FP_UNROLL
      for (int c = 0; c < FP_CHANNELS; ++c) s.channels[c * FP_BN + n] = values[c];
    }
  }
}

// Two columns, which are neighbours, of the rows `row` and `row + 8` of a part.
struct fp_four {
  float v[2][2];
};
FP_FN fp_four fp_finish_four(const fp_args& a, const fp_shared& s, const fp_row* rows, unsigned k,
                             unsigned n, const float* sums) {
  fp_four results;
  FP_UNROLL
  for (int column = 0; column < 2; ++column) {
    float channels[FP_CHANNELS + 1];
    FP_UNROLL
    for (int c = 0; c < FP_CHANNELS; ++c) channels[c] = s.channels[c * FP_BN + n + column];
    FP_UNROLL
    for (int half = 0; half < 2; ++half)
      results.v[half][column] =
          fp_result(a, rows[half], k + n + column, sums[2 * half + column], channels);
  }
  return results;
}

// Through shared memory and the copy engine, which leaves out what is outside the output. `box`
// counts the boxes of all tiles.
FP_FN void fp_store_boxes(const fp_args& a, const fp_shared& s, const fp_row* rows, unsigned pixel,
                          unsigned k, unsigned& box, const float (&sums)[FP_SUMS]) {
  const unsigned thread = fp_thread() % 128, consumer = fp_consumer(), lane = thread % 32;
  FP_UNROLL
  for (unsigned first = 0; first < FP_BN; first += 64) {
    unsigned char* to = s.results + (2 * consumer + box % 2) * FP_BYTES_BOX;
    if (thread == 0) fp_tma_wait_read<1>();  // of the box before the last
    fp_named_barrier(FP_BARRIER_ONE + consumer, 128);
    FP_UNROLL
    for (unsigned n = first; n < first + 64; n += 16) {
      unsigned words[4];
      FP_UNROLL
      for (unsigned side = 0; side < 2; ++side) {
        const fp_four four =
            fp_finish_four(a, s, rows, k, n + 8 * side + lane % 4 * 2, sums + (n / 2 + 4 * side));
        FP_UNROLL
        for (int half = 0; half < 2; ++half)
          words[2 * side + half] = fp_narrow_two<FP_OUTPUT>(four.v[half][0], four.v[half][1]);
      }
      const unsigned row = thread / 32 * 16 + lane % 16, piece = (n - first) / 8 + lane / 16;
      fp_stsm4(fp_piece_at(to, row, piece), words);
    }
    fp_fence_async();
    fp_named_barrier(FP_BARRIER_ONE + consumer, 128);
    if (thread == 0) {
      fp_tma_store(a.output_map, to, k + first, pixel);
      fp_tma_commit();
    }
    ++box;
  }
}

// V results that lie together, at a multiple of V.
template <int V>
FP_FN void fp_put_together(void* base, long long at, const float* results) {
  if constexpr (FP_OUTPUT == FP_F32 && V == 4) {
    fp_store_wide<FP_F32, 4>(base, at, results);
  } else if constexpr (FP_OUTPUT != FP_F32 && V == 2) {
    fp_put<unsigned>(base, at / 2, fp_narrow_two<FP_OUTPUT>(results[0], results[1]));
  } else {
    const unsigned low = FP_OUTPUT == FP_F32 ? fp_as_bits(results[0])
                                             : fp_narrow_two<FP_OUTPUT>(results[0], results[1]);
    const unsigned high = FP_OUTPUT == FP_F32
                              ? fp_as_bits(results[1])
                              : fp_narrow_two<FP_OUTPUT>(results[V - 2], results[V - 1]);
    fp_put<unsigned long long>(base, at / V, low | (unsigned long long)high << 32);
  }
}

// A thread finishes V neighbouring pixels of a channel, of FP_PLANES channels in shared memory.
template <int V>
FP_FN void fp_finish_planes(const fp_args& a, const fp_shared& s, const fp_row* rows,
                            const float* planes, unsigned k, unsigned first) {
  constexpr unsigned threads = 64 / V;  // of a channel
  const unsigned thread = fp_thread() % 128;
  FP_FOUR_BY_FOUR
  for (unsigned n = thread / threads; n < FP_PLANES; n += 128 / threads) {
    const unsigned channel = k + first + n;
    if (channel >= FP_K) break;
    const float* sums = planes + n * FP_PLANE + V * (thread % threads);
    float channels[FP_CHANNELS + 1], results[V];
    FP_UNROLL
    for (int c = 0; c < FP_CHANNELS; ++c) channels[c] = s.channels[c * FP_BN + first + n];
    FP_UNROLL
    for (int i = 0; i < V; ++i) results[i] = fp_result(a, rows[i], channel, sums[i], channels);
    const long long at = rows[0].out + channel * a.output_stride[1];
    if constexpr (V == FP_TOGETHER) {
      if (rows[0].inside) fp_put_together<V>(a.output, at, results);
    } else {
      FP_UNROLL
      for (int i = 0; i < V; ++i)
        if (rows[i].inside)
          fp_store<FP_OUTPUT>(a.output, rows[i].out + channel * a.output_stride[1], results[i]);
    }
  }
}

// Sums through shared memory, so that neighbouring threads finish neighbouring pixels of a channel:
// a thread four, if these can be stored together, else two.
FP_FN void fp_store_planes(const fp_args& a, const fp_shared& s, unsigned pixel, unsigned k,
                           const float (&sums)[FP_SUMS]) {
  const unsigned thread = fp_thread() % 128, lane = thread % 32, warp = thread / 32;
  float* planes = (float*)(s.results + fp_consumer() * FP_BYTES_PLANES);
  constexpr int V = FP_TOGETHER == 4 ? 4 : 2;
  fp_row rows[V];
  FP_UNROLL
  for (int i = 0; i < V; ++i) rows[i] = fp_row_of(a, pixel + thread % (64 / V) * V + i);
  FP_UNROLL
  for (unsigned first = 0; first < FP_BN; first += FP_PLANES) {
    fp_named_barrier(FP_BARRIER_ONE + fp_consumer(), 128);  // those before have been read
    FP_UNROLL
    for (unsigned n = 0; n < FP_PLANES; n += 8) {
      FP_UNROLL
      for (int i = 0; i < 4; ++i)
        planes[(n + lane % 4 * 2 + i % 2) * FP_PLANE + warp * 16 + lane / 4 + i / 2 * 8] =
            sums[(first + n) / 2 + i];
    }
    fp_named_barrier(FP_BARRIER_ONE + fp_consumer(), 128);
    fp_finish_planes<V>(a, s, rows, planes, k, first);
  }
}

FP_FN void fp_store_direct(const fp_args& a, const fp_shared& s, const fp_row* rows, unsigned k,
                           const float (&sums)[FP_SUMS]) {
  FP_UNROLL
  for (unsigned n = 0; n < FP_BN; n += 8) {
    const unsigned first = n + fp_thread() % 4 * 2;
    const fp_four four = fp_finish_four(a, s, rows, k, first, sums + n / 2);
    FP_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (FP_OUTPUT == FP_F32 && FP_TOGETHER == 2) {
        if (rows[half].inside && k + first < FP_K)
          fp_put_together<2>(a.output, rows[half].out + k + first, four.v[half]);
        continue;
      }
      FP_UNROLL
      for (unsigned column = 0; column < 2; ++column)
        if (rows[half].inside && k + first + column < FP_K)
          fp_store<FP_OUTPUT>(a.output, rows[half].out + (k + first + column) * a.output_stride[1],
                              four.v[half][column]);
    }
  }
}

FP_FN void fp_consume(const fp_args& a, const fp_shared& s) {
  const unsigned consumer = fp_warp() / 4 - FP_PRODUCERS, thread = fp_thread() % 128;
  fp_turn turn = {0, 0};
  unsigned box = 0;
  FP_ONE_BY_ONE
  for (unsigned tile = fp_block(); tile < a.tiles; tile += fp_blocks()) {
    const fp_tile first = fp_tile_of(tile);
    const unsigned k = first.channel;
    fp_fill_channels(a, s, k);
    float sums[FP_PARTS][FP_SUMS];
    fp_multiply(s, consumer, k, turn, sums);
    if constexpr (FP_CHANNELS > 0) fp_named_barrier(FP_BARRIER_BOTH, 256);
    FP_UNROLL
    for (int part = 0; part < FP_PARTS; ++part) {
      const unsigned pixel = first.pixel + consumer * FP_ROWS + part * 64;
      const unsigned mine = pixel + thread / 32 * 16 + thread % 32 / 4;
      if constexpr (FP_STORE == FP_BY_PLANES) {
        fp_store_planes(a, s, pixel, k, sums[part]);
        continue;
      }
      const fp_row rows[2] = {fp_row_of(a, mine), fp_row_of(a, mine + 8)};
      if constexpr (FP_STORE == FP_BY_BOXES) fp_store_boxes(a, s, rows, pixel, k, box, sums[part]);
      if constexpr (FP_STORE == 0) fp_store_direct(a, s, rows, k, sums[part]);
    }
  }
  if (FP_STORE == FP_BY_BOXES && thread == 0) fp_tma_wait_all();
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

// Pointers off the boundaries that the copy engine, or what is loaded and stored together, needs: a
// thread computes an output.
FP_KERNEL(fp_conv_plain, 256) {
  const unsigned long long index = fp_block() * 256ull + fp_thread();
  const unsigned pixel = (unsigned)(index / FP_K), channel = (unsigned)(index % FP_K);
  if (pixel >= a.pixels) return;
  const fp_pixel corner = fp_pixel_of(a, pixel, 0);
  float sum = 0.0f;
  FP_ONE_BY_ONE
  for (int at = 0; at < FP_TAPS; ++at) {
    const fp_tap tap = {0, 0, at / FP_S, at % FP_S};
    if (!fp_is_inside(a, corner, tap)) continue;
    const long long from = corner.at + fp_tap_offset(a, tap);
    const long long weight = fp_weight_offset(0, channel, tap);
    FP_ONE_BY_ONE
    for (int c = 0; c < FP_C; ++c)
      sum = fmaf(fp_load_factor(a.input, from + c * a.input_stride[1]),
                 fp_load_factor(a.weights, weight + (long long)c * FP_WEIGHT_C), sum);
  }
  float channels[FP_CHANNELS + 1];
  fp_channels(a, channel, channels);
  const fp_row row = fp_row_of(a, pixel);
  fp_store<FP_OUTPUT>(a.output, row.out + channel * a.output_stride[1],
                      fp_result(a, row, channel, sum, channels));
}
