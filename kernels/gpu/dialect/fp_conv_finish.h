// SPDX-License-Identifier: MIT
// The end of a tile of FP_BN channels: its sums lie in shared memory, FP_PART_M pixels at a time,
// and become results with threads running along memory. With FP_WIDE_OUTPUT 8 channels go at once,
// and of the chain's tensors those in FP_ELEMENT_LANES.

// A row of the finished tile: whichever way threads run along it, few share a bank.
#define FP_PART_ROW (FP_BN + (FP_OUT_PIXELS ? 1 : 8))

template <int e, int V>
FP_FN void fp_load_elements(const fp_args& a, const fp_place& at, long long channel,
                            float (*to)[V]) {
  if constexpr (e < FP_ELEMENTS) {
    constexpr int type = fp_element_types[e];
    const long long* stride = a.element_stride[e];
    const long long offset = fp_offset(stride, at, channel);
    if constexpr (V > 1 && (FP_ELEMENT_LANES >> e & 1) != 0) {
      fp_load_wide<type, V>(a.elements[e], offset, to[e]);
    } else {
      FP_UNROLL
      for (int v = 0; v < V; ++v) to[e][v] = fp_load<type>(a.elements[e], offset + v * stride[1]);
    }
    fp_load_elements<e + 1, V>(a, at, channel, to);
  }
}

// The chain over V channels of one pixel, which lie at `sums` in shared memory.
template <int V>
FP_FN void fp_finish_pixel(const fp_args& a, unsigned pixel, long long channel, const float* sums,
                           const float (*channels)[FP_CHANNELS + 1]) {
  const fp_place at = fp_place_of(a, pixel);
  const long long out = fp_offset(a.output_stride, at, channel);
  float elements[FP_ELEMENTS + 1][V], before[V], result[V];
  fp_load_elements<0, V>(a, at, channel, elements);
  if constexpr (FP_READS_OUTPUT && V > 1) fp_load_wide<FP_OUTPUT, V>(a.output, out, before);
  if constexpr (V == 1) before[0] = FP_READS_OUTPUT ? fp_load<FP_OUTPUT>(a.output, out) : 0.0f;
  FP_UNROLL
  for (int v = 0; v < V; ++v) {
    float own[FP_ELEMENTS + 1];
    FP_UNROLL
    for (int e = 0; e < FP_ELEMENTS; ++e) own[e] = elements[e][v];
    result[v] = fp_chain(a, sums[v], FP_READS_OUTPUT ? before[v] : 0.0f, channels[v], own);
  }
  if constexpr (V > 1) fp_store_wide<FP_OUTPUT, V>(a.output, out, result);
  if constexpr (V == 1) fp_store<FP_OUTPUT>(a.output, out, result[0]);
}

// The tile's channels' values in shared memory, for threads that keep their pixel and go through
// all channels.
FP_FN void fp_stage_channels(const fp_args& a, const fp_tile& tile, float* staged) {
  for (unsigned n = fp_thread(); n < FP_BN && tile.channel + n < FP_K; n += FP_THREADS) {
    float values[FP_CHANNELS + 1];
    fp_channels(a, (long long)tile.group * FP_K + tile.channel + n, values);
    FP_UNROLL
    for (int c = 0; c < FP_CHANNELS; ++c) staged[n * FP_CHANNELS + c] = values[c];
  }
}

// The chain over a part. A thread keeps its pixel, or its channels, whichever are not
// neighbours in memory.
FP_FN void fp_finish_along_pixels(const fp_args& a, const fp_tile& tile, const float* part,
                                  const float* staged) {
  const unsigned m = fp_thread() % FP_PART_M;
  if (tile.pixel + m >= a.pixels) return;
  FP_ONE_BY_ONE
  for (unsigned n = fp_thread() / FP_PART_M; n < FP_BN; n += FP_THREADS / FP_PART_M) {
    if (tile.channel + n >= FP_K) return;
    const long long channel = (long long)tile.group * FP_K + tile.channel + n;
    float channels[1][FP_CHANNELS + 1];
    FP_UNROLL
    for (int c = 0; c < FP_CHANNELS; ++c) channels[0][c] = staged[n * FP_CHANNELS + c];
    fp_finish_pixel<1>(a, tile.pixel + m, channel, part + m * FP_PART_ROW + n, channels);
  }
}
template <int V>
FP_FN void fp_finish_along_channels(const fp_args& a, const fp_tile& tile, const float* part) {
  const unsigned n = fp_thread() % (FP_BN / V) * V;
  if (tile.channel + n >= FP_K) return;
  const long long channel = (long long)tile.group * FP_K + tile.channel + n;
  float channels[V][FP_CHANNELS + 1];
  FP_UNROLL
  for (int v = 0; v < V; ++v) fp_channels(a, channel + v, channels[v]);
  FP_ONE_BY_ONE
  for (unsigned m = fp_thread() / (FP_BN / V); m < FP_PART_M; m += FP_THREADS / (FP_BN / V)) {
    if (tile.pixel + m >= a.pixels) return;
    fp_finish_pixel<V>(a, tile.pixel + m, channel, part + m * FP_PART_ROW + n, channels);
  }
}
