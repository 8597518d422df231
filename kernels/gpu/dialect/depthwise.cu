// SPDX-License-Identifier: MIT
// Convolution with groups of few channels: a thread sums V neighbouring channels of FP_T outputs
// below each other, column by column of the filter, so that an input row is loaded once for all
// outputs and taps of the column that read it. V is more than 1 only where each channel is a group.
// Threads follow the memory: along channels, or along rows. Blocks go on to further strips, because
// they begin by putting the weights and the chain's channel values into shared memory (FP_STAGED),
// where neighbours are channels.

#define FP_TAPS (FP_D * FP_R * FP_S)
// Input rows of a column, counted from the first, FP_ROW_STEP apart.
#define FP_SPAN ((FP_T - 1) * FP_STRIDE_H + (FP_R - 1) * FP_DILATION_H)
#define FP_ROWS (FP_SPAN / FP_ROW_STEP + 1)
enum { FP_N_AXIS = 0, FP_C_AXIS = 1, FP_D_AXIS = 2, FP_H_AXIS = 3, FP_W_AXIS = 4 };

// Where a strip lies: its first output, and the input under its first tap.
struct fp_strip {
  long long channel;
  int n, d, p, q;
};
template <int V>
FP_FN fp_strip fp_strip_of(const fp_args& a, unsigned index) {
  unsigned at[5];
  FP_UNROLL
  for (int i = 0; i < 4; ++i) {
    const unsigned rest = fp_divide(index, a.len[i]);
    at[i] = index - rest * a.len[i].divisor;
    index = rest;
  }
  at[4] = index;
  return {(long long)at[FP_AT_C] * V, (int)at[4], (int)at[FP_AT_D], (int)at[FP_AT_H] * FP_T,
          (int)at[FP_AT_W]};
}

// FP_TAPS rows of weights and FP_CHANNELS of the chain's values, a channel of the output after the
// other. Neighbouring threads store neighbours; what they load lies apart, but in few lines.
FP_FN void fp_stage_weights(const fp_args& a, float* shared) {
  FP_FOUR_BY_FOUR
  for (unsigned at = fp_thread(); at < FP_TAPS * FP_OUTPUTS; at += FP_THREADS) {
    const unsigned channel = at % FP_OUTPUTS, tap = at / FP_OUTPUTS;
    shared[at] = fp_load<FP_WEIGHTS>(
        a.weights, (long long)channel * FP_WEIGHT_K + tap / (FP_R * FP_S) * FP_WEIGHT_D +
                       tap / FP_S % FP_R * FP_WEIGHT_R + tap % FP_S * FP_WEIGHT_S);
  }
  if constexpr (FP_CHANNELS > 0) {
    FP_ONE_BY_ONE
    for (unsigned channel = fp_thread(); channel < FP_OUTPUTS; channel += FP_THREADS) {
      float values[FP_CHANNELS + 1];
      fp_channels(a, channel, values);
      FP_UNROLL
      for (int c = 0; c < FP_CHANNELS; ++c)
        shared[(FP_TAPS + c) * FP_OUTPUTS + channel] = values[c];
    }
  }
  fp_barrier();
}

template <int V>
FP_FN void fp_weights_of(const fp_args& a, const float* shared, long long channel, int c, int d,
                         int s, float (&to)[FP_R][V]) {
  FP_UNROLL
  for (int r = 0; r < FP_R; ++r) {
    FP_UNROLL
    for (int v = 0; v < V; ++v)
      to[r][v] = FP_STAGED && V > 1
                     ? shared[((d * FP_R + r) * FP_S + s) * FP_OUTPUTS + channel + v]
                     : fp_load<FP_WEIGHTS>(
                           a.weights, (channel + v) * FP_WEIGHT_K + (long long)c * FP_WEIGHT_C +
                                          d * FP_WEIGHT_D + r * FP_WEIGHT_R + s * FP_WEIGHT_S);
  }
}

template <int V>
FP_FN void fp_add_row(const float* x, const float (&weights)[FP_R][V], int row,
                      float (&sums)[FP_T][V]) {
  FP_UNROLL
  for (int t = 0; t < FP_T; ++t) {
    FP_UNROLL
    for (int r = 0; r < FP_R; ++r) {
      if (t * FP_STRIDE_H + r * FP_DILATION_H != row * FP_ROW_STEP) continue;
      FP_UNROLL
      for (int v = 0; v < V; ++v) sums[t][v] = fmaf(x[v], weights[r][v], sums[t][v]);
    }
  }
}

// A column of one channel's filter: `base` is where its rows' values lie in the image.
FP_FN void fp_add_column(const fp_args& a, const fp_strip& strip, long long base, int w,
                         const float (&weights)[FP_R][1], float (&sums)[FP_T][1]) {
  const int top = strip.p * FP_STRIDE_H - FP_PAD_H;
  const bool column = (unsigned)w < a.input_w;
  FP_UNROLL
  for (int row = 0; row < FP_ROWS; ++row) {
    const int h = top + row * FP_ROW_STEP;
    float x = 0.0f;
    if (column && (unsigned)h < a.input_h)
      x = fp_load<FP_INPUT>(a.input,
                            base + h * a.input_stride[FP_H_AXIS] + w * a.input_stride[FP_W_AXIS]);
    fp_add_row<1>(&x, weights, row, sums);
  }
}

// The same of channels that lie together. All loads come before the first use, which those with
// conditions do not: what lies outside the image is read inside, and left out.
template <int V>
FP_FN void fp_add_wide_column(const fp_args& a, const fp_strip& strip, long long base, int w,
                              const float (&weights)[FP_R][V], float (&sums)[FP_T][V]) {
  constexpr int parts = V / FP_EACH_OF(FP_INPUT);
  const int top = strip.p * FP_STRIDE_H - FP_PAD_H;
  const long long from = base + fp_clamp(w, a.input_w) * a.input_stride[FP_W_AXIS];
  fp_vec words[FP_ROWS][parts];
  FP_UNROLL
  for (int row = 0; row < FP_ROWS; ++row) {
    const unsigned h = fp_clamp(top + row * FP_ROW_STEP, a.input_h);
    fp_get_wide<FP_INPUT, V>(a.input, from + h * a.input_stride[FP_H_AXIS], words[row]);
  }
  const bool column = (unsigned)w < a.input_w;
  FP_UNROLL
  for (int row = 0; row < FP_ROWS; ++row) {
    const bool inside = column && (unsigned)(top + row * FP_ROW_STEP) < a.input_h;
    FP_UNROLL
    for (int i = 0; i < 4 * parts; ++i)
      words[row][i / 4].w[i % 4] = inside ? words[row][i / 4].w[i % 4] : 0u;
    float x[V];
    fp_widen_wide<FP_INPUT, V>(words[row], x);
    fp_add_row<V>(x, weights, row, sums);
  }
}

template <int V>
FP_FN void fp_sum_strip(const fp_args& a, const fp_strip& strip, const float* shared,
                        float (&sums)[FP_T][V]) {
  const long long group = strip.channel / FP_K;
  const long long image = strip.n * a.input_stride[FP_N_AXIS];
  FP_ONE_BY_ONE
  for (int d = 0; d < FP_D; ++d) {
    const int depth = strip.d * FP_STRIDE_D - FP_PAD_D + d * FP_DILATION_D;
    if ((unsigned)depth >= a.input_d) continue;
    FP_ONE_BY_ONE
    for (int c = 0; c < FP_C; ++c) {
      const long long base = image + (group * FP_C + c) * a.input_stride[FP_C_AXIS] +
                             depth * a.input_stride[FP_D_AXIS];
      FP_ONE_BY_ONE
      for (int s = 0; s < FP_S; ++s) {
        float weights[FP_R][V];
        fp_weights_of<V>(a, shared, strip.channel, c, d, s, weights);
        const int w = strip.q * FP_STRIDE_W - FP_PAD_W + s * FP_DILATION_W;
        if constexpr (V > 1) {
          fp_add_wide_column<V>(a, strip, base, w, weights, sums);
        } else {
          fp_add_column(a, strip, base, w, weights, sums);
        }
      }
    }
  }
}

FP_FN long long fp_offset(const long long* stride, const fp_strip& at, int p) {
  return at.n * stride[FP_N_AXIS] + at.channel * stride[FP_C_AXIS] + at.d * stride[FP_D_AXIS] +
         p * stride[FP_H_AXIS] + at.q * stride[FP_W_AXIS];
}
template <int V, int e>
FP_FN void fp_load_elements(const fp_args& a, const fp_strip& strip, int p, float (*to)[V]) {
  if constexpr (e < FP_ELEMENTS) {
    fp_load_lanes<fp_element_types[e], 2 + e, V>(a.elements[e],
                                                 fp_offset(a.element_stride[e], strip, p), to[e]);
    fp_load_elements<V, e + 1>(a, strip, p, to);
  }
}

template <int V>
FP_FN void fp_finish_strip(const fp_args& a, const fp_strip& strip, const float* shared,
                           float (&sums)[FP_T][V]) {
  float channels[V][FP_CHANNELS + 1];
  FP_UNROLL
  for (int v = 0; v < V; ++v) {
    if constexpr (FP_STAGED && V > 1) {
      FP_UNROLL
      for (int c = 0; c < FP_CHANNELS; ++c)
        channels[v][c] = shared[(FP_TAPS + c) * FP_OUTPUTS + strip.channel + v];
    } else {
      fp_channels(a, strip.channel + v, channels[v]);
    }
  }
  FP_UNROLL
  for (int t = 0; t < FP_T; ++t) {
    if (strip.p + t >= (int)a.output_h) continue;
    const long long out = fp_offset(a.output_stride, strip, strip.p + t);
    float before[V], loaded[FP_ELEMENTS + 1][V];
    if (FP_READS_OUTPUT) fp_load_lanes<FP_OUTPUT, 1, V>(a.output, out, before);
    fp_load_elements<V, 0>(a, strip, strip.p + t, loaded);
    FP_UNROLL
    for (int v = 0; v < V; ++v) {
      float elements[FP_ELEMENTS + 1];
      FP_UNROLL
      for (int e = 0; e < FP_ELEMENTS; ++e) elements[e] = loaded[e][v];
      sums[t][v] = fp_chain(a, sums[t][v], before[v], channels[v], elements);
    }
    fp_store_lanes<FP_OUTPUT, V>(a.output, out, sums[t]);
  }
}

template <int V>
FP_FN void fp_strips(const fp_args& a, const float* shared) {
  FP_ONE_BY_ONE
  for (unsigned index = fp_block() * FP_THREADS + fp_thread(); index < a.count; index += a.step) {
    const fp_strip strip = fp_strip_of<V>(a, index);
    float sums[FP_T][V];
    FP_UNROLL
    for (int t = 0; t < FP_T; ++t) {
      FP_UNROLL
      for (int v = 0; v < V; ++v) sums[t][v] = 0.0f;
    }
    fp_sum_strip<V>(a, strip, shared, sums);
    fp_finish_strip<V>(a, strip, shared, sums);
  }
}

// With a bound: left alone, some compilers settle on 48 registers and spill one.
FP_KERNEL_BLOCKS(fp_depthwise, FP_THREADS, 2) { fp_strips<1>(a, nullptr); }
#if FP_WIDE > 1
FP_KERNEL(fp_depthwise_wide, FP_THREADS) {
  FP_SHARED(shared);
  if (FP_STAGED) fp_stage_weights(a, shared);
  fp_strips<FP_WIDE>(a, shared);
}
#endif
