// SPDX-License-Identifier: MIT
// The consumers on Hopper's tensor cores: their way through the tiles, the chain on the sums of
// their rows, and how results leave. At the end the plain kernel.

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
  unsigned box = 0, packed = FP_K;  // whose filters are there: none
  const fp_tiles tiles = fp_tiles_of(a);
  FP_ONE_BY_ONE
  for (unsigned tile = tiles.next; tile < tiles.end; tile += tiles.step) {
    const fp_tile first = fp_tile_at(a, tile);
    const unsigned k = first.channel;
    if constexpr (FP_PACKED > 0) {
      if (k != packed) fp_pack_filters(a, s, k, packed == FP_K);
      packed = k;
    }
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

// Pointers off the boundaries that the copy engine, or what is loaded and stored together, needs: a
// thread computes an output.
FP_KERNEL(fp_conv_plain, 256) {
  const unsigned long long index = fp_block() * 256ull + fp_thread();
  const unsigned pixel = (unsigned)(index / FP_K), channel = (unsigned)(index % FP_K);
  if (pixel >= a.pixels) return;
  const fp_pixel corner = fp_pixel_of(a, pixel, 0);
  const unsigned group = FP_PACKED ? channel - channel % (FP_PACKED ? FP_PACKED : 1) : 0;
  float sum = 0.0f;
  FP_ONE_BY_ONE
  for (int at = 0; at < FP_TAPS; ++at) {
    const fp_tap tap = {0, 0, at / FP_S, at % FP_S};
    if (!fp_is_inside(a, corner, tap)) continue;
    const long long from = corner.at + fp_tap_offset(a, tap);
    const long long weight = fp_weight_offset(0, channel, tap);
    FP_ONE_BY_ONE
    for (int c = 0; c < (FP_PACKED ? FP_PACKED : FP_C); ++c)
      sum = fmaf(fp_load_factor(a.input, from + (group + c) * a.input_stride[1]),
                 fp_load_factor(a.weights, weight + (long long)c * FP_WEIGHT_C), sum);
  }
  float channels[FP_CHANNELS + 1];
  fp_channels(a, channel, channels);
  const fp_row row = fp_row_of(a, pixel);
  fp_store<FP_OUTPUT>(a.output, row.out + channel * a.output_stride[1],
                      fp_result(a, row, channel, sum, channels));
}
