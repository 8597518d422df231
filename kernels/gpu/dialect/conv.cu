// SPDX-License-Identifier: MIT
// fp_conv.h's matrix product on the f32 units. A block computes FP_BM x FP_BN sums, FP_TM x FP_TN a
// thread, in steps of FP_BK through two buffers in shared memory. Then the tile passes through
// shared memory once more, so that the chain stands in the code once a quarter and threads run
// along memory whatever the layout.

#define FP_STEPS ((FP_DEPTH + FP_BK - 1) / FP_BK)
#define FP_LOADS_A (FP_BM * FP_BK / FP_THREADS)
#define FP_LOADS_B ((FP_BN * FP_BK + FP_THREADS - 1) / FP_THREADS)
// Threads of a block along rows and columns, and what a thread reads at once.
#define FP_ALONG_M (FP_BM / FP_TM)
#define FP_ALONG_N (FP_BN / FP_TN)
#define FP_GM (FP_TM < 4 ? FP_TM : 4)
#define FP_GN (FP_TN < 4 ? FP_TN : 4)
// 16 bytes of padding put the rows of a step, written by neighbouring threads, in different banks.
#define FP_ROW_A (FP_BM + 4)
#define FP_ROW_B (FP_BN + 4)
#define FP_BUFFER (FP_BK * (FP_ROW_A + FP_ROW_B))
#define FP_PART_M (FP_ALONG_M * FP_GM)
#define FP_PART_N (FP_ALONG_N * FP_GN)

FP_FN float fp_load_input(const fp_args& a, const fp_pixel& pixel, unsigned d) {
  const fp_tap tap = fp_tap_of(d);
  if (d >= FP_DEPTH || !fp_is_inside(a, pixel, tap)) return 0.0f;
  return fp_load<FP_INPUT>(a.input, pixel.at + fp_tap_offset(a, tap));
}

FP_FN float fp_load_weight(const fp_args& a, unsigned d, unsigned k, unsigned group) {
  if (d >= FP_DEPTH || k >= FP_K) return 0.0f;
  return fp_load<FP_WEIGHTS>(a.weights, fp_weight_offset(group, k, fp_tap_of(d)));
}

// Element number `load` of a thread, as row and depth of the input tile: neighbouring threads take
// neighbouring pixels, or depths, whichever are neighbours in memory.
FP_FN unsigned fp_load_row(int load) {
  const unsigned at = fp_thread() + load * FP_THREADS;
  return FP_PIXELS_INNER ? at % FP_BM : at / FP_BK;
}
FP_FN unsigned fp_load_depth(int load) {
  const unsigned at = fp_thread() + load * FP_THREADS;
  return FP_PIXELS_INNER ? at / FP_BM : at % FP_BK;
}
// With pixels along threads all loads of a thread are of one pixel.
#define FP_PIXELS (FP_PIXELS_INNER ? 1 : FP_LOADS_A)

struct fp_stage {
  float a[FP_LOADS_A], b[FP_LOADS_B];
};
FP_FN void fp_fetch(const fp_args& a, const fp_tile& tile, const fp_pixel* pixels, unsigned depth,
                    fp_stage& stage) {
  FP_UNROLL
  for (int i = 0; i < FP_LOADS_A; ++i)
    stage.a[i] = fp_load_input(a, pixels[FP_PIXELS_INNER ? 0 : i], depth + fp_load_depth(i));
  FP_UNROLL
  for (int i = 0; i < FP_LOADS_B; ++i) {
    const unsigned at = fp_thread() + i * FP_THREADS;
    stage.b[i] = at < FP_BN * FP_BK
                     ? fp_load_weight(a, depth + at % FP_BK, tile.channel + at / FP_BK, tile.group)
                     : 0.0f;
  }
}
FP_FN void fp_put_down(const fp_stage& stage, float* buffer) {
  FP_UNROLL
  for (int i = 0; i < FP_LOADS_A; ++i)
    buffer[fp_load_depth(i) * FP_ROW_A + fp_load_row(i)] = stage.a[i];
  FP_UNROLL
  for (int i = 0; i < FP_LOADS_B; ++i) {
    const unsigned at = fp_thread() + i * FP_THREADS;
    if (at < FP_BN * FP_BK)
      buffer[FP_BK * FP_ROW_A + at % FP_BK * FP_ROW_B + at / FP_BK] = stage.b[i];
  }
}

template <int G>
FP_FN void fp_read_group(const float* from, float* to) {
  if constexpr (G == 4) {
    const fp_float4 four = *reinterpret_cast<const fp_float4*>(from);
    FP_UNROLL
    for (int i = 0; i < 4; ++i) to[i] = four.v[i];
  } else {
    FP_UNROLL
    for (int i = 0; i < G; ++i) to[i] = from[i];
  }
}

// Neighbouring threads own neighbouring groups along the axis that is contiguous in the output.
FP_FN unsigned fp_thread_m() {
  return FP_OUT_PIXELS ? fp_thread() % FP_ALONG_M : fp_thread() / FP_ALONG_N;
}
FP_FN unsigned fp_thread_n() {
  return FP_OUT_PIXELS ? fp_thread() / FP_ALONG_M : fp_thread() % FP_ALONG_N;
}

FP_FN void fp_multiply(const float* buffer, float (&sums)[FP_TM][FP_TN]) {
  FP_UNROLL
  for (int k = 0; k < FP_BK; ++k) {
    const float* rows = buffer + k * FP_ROW_A + fp_thread_m() * FP_GM;
    const float* columns = buffer + FP_BK * FP_ROW_A + k * FP_ROW_B + fp_thread_n() * FP_GN;
    float m[FP_TM], n[FP_TN];
    FP_UNROLL
    for (int g = 0; g < FP_TM / FP_GM; ++g)
      fp_read_group<FP_GM>(rows + g * FP_PART_M, m + g * FP_GM);
    FP_UNROLL
    for (int g = 0; g < FP_TN / FP_GN; ++g)
      fp_read_group<FP_GN>(columns + g * FP_PART_N, n + g * FP_GN);
    FP_UNROLL
    for (int i = 0; i < FP_TM; ++i) {
      FP_UNROLL
      for (int j = 0; j < FP_TN; ++j) sums[i][j] = fmaf(m[i], n[j], sums[i][j]);
    }
  }
}

template <int e>
FP_FN void fp_load_elements(const fp_args& a, const fp_place& at, long long channel, float* to) {
  if constexpr (e < FP_ELEMENTS) {
    to[e] =
        fp_load<fp_element_types[e]>(a.elements[e], fp_offset(a.element_stride[e], at, channel));
    fp_load_elements<e + 1>(a, at, channel, to);
  }
}

// The chain over one part of the tile, which lies in shared memory, row by row.
FP_FN void fp_finish_part(const fp_args& a, const fp_tile& tile, const float* part) {
  FP_ONE_BY_ONE
  for (unsigned at = fp_thread(); at < FP_PART_M * FP_PART_N; at += FP_THREADS) {
    const unsigned m = FP_OUT_PIXELS ? at % FP_PART_M : at / FP_PART_N;
    const unsigned n = FP_OUT_PIXELS ? at / FP_PART_M : at % FP_PART_N;
    if (tile.pixel + m >= a.pixels || tile.channel + n >= FP_K) continue;
    const fp_place place = fp_place_of(a, tile.pixel + m);
    const long long channel = (long long)tile.group * FP_K + tile.channel + n;
    float channels[FP_CHANNELS + 1], elements[FP_ELEMENTS + 1];
    fp_channels(a, channel, channels);
    fp_load_elements<0>(a, place, channel, elements);
    const long long out = fp_offset(a.output_stride, place, channel);
    const float before = FP_READS_OUTPUT ? fp_load<FP_OUTPUT>(a.output, out) : 0.0f;
    fp_store<FP_OUTPUT>(a.output, out,
                        fp_chain(a, part[m * (FP_PART_N + 1) + n], before, channels, elements));
  }
}

FP_FN void fp_finish(const fp_args& a, const fp_tile& tile, const float (&sums)[FP_TM][FP_TN],
                     float* part) {
  FP_UNROLL
  for (int gm = 0; gm < FP_TM / FP_GM; ++gm) {
    FP_UNROLL
    for (int gn = 0; gn < FP_TN / FP_GN; ++gn) {
      fp_barrier();
      FP_UNROLL
      for (int i = 0; i < FP_GM; ++i) {
        FP_UNROLL
        for (int j = 0; j < FP_GN; ++j)
          part[(fp_thread_m() * FP_GM + i) * (FP_PART_N + 1) + fp_thread_n() * FP_GN + j] =
              sums[gm * FP_GM + i][gn * FP_GN + j];
      }
      fp_barrier();
      fp_finish_part(a, {tile.pixel + gm * FP_PART_M, tile.channel + gn * FP_PART_N, tile.group},
                     part);
    }
  }
}

// A bound of its own: left alone, some compilers settle on 64 registers and spill one. With
// channels inside, the largest tile's pixels leave no room for a second block.
FP_KERNEL_BLOCKS(fp_conv, FP_THREADS, (FP_BM * FP_BN > 8192 && !FP_PIXELS_INNER ? 1 : 2)) {
  FP_SHARED(shared);
  const fp_tile tile = fp_tile_of(fp_block());
  fp_pixel pixels[FP_PIXELS];
  FP_UNROLL
  for (int i = 0; i < FP_PIXELS; ++i)
    pixels[i] = fp_pixel_of(a, tile.pixel + fp_load_row(i), tile.group);

  float sums[FP_TM][FP_TN];
  FP_UNROLL
  for (int i = 0; i < FP_TM; ++i) {
    FP_UNROLL
    for (int j = 0; j < FP_TN; ++j) sums[i][j] = 0.0f;
  }
  fp_stage stage;
  fp_fetch(a, tile, pixels, 0, stage);
  fp_put_down(stage, shared);
  fp_barrier();
  FP_ONE_BY_ONE
  for (unsigned step = 0; step < FP_STEPS; ++step) {
    const bool more = step + 1 < FP_STEPS;
    if (more) fp_fetch(a, tile, pixels, (step + 1) * FP_BK, stage);
    fp_multiply(shared + step % 2 * FP_BUFFER, sums);
    if (more) {
      fp_put_down(stage, shared + (step + 1) % 2 * FP_BUFFER);
      fp_barrier();
    }
  }
  fp_finish(a, tile, sums, shared);
}
