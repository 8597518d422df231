// SPDX-License-Identifier: MIT
// A chain without convolution: one pass over memory. Threads take pieces of V lanes; the wide entry
// needs lanes that are a multiple of V and addresses that are a multiple of 16 bytes. The flat one
// takes pieces of tensors without gaps wherever their rows end, of V lanes and more.
// Tensors: input, output, the channel number as if it were one, then elements.

template <int V>
struct fp_item {
  float x[V], before[V], elements[FP_ELEMENTS + 1][V];
  long long out;
  long long channel;
};

template <int V, int e>
FP_FN void fp_load_elements(const fp_args& a, const long long* offset, float (*to)[V]) {
  if constexpr (e < FP_ELEMENTS) {
    fp_load_lanes<fp_element_types[e], 3 + e, V>(a.elements[e], offset[3 + e], to[e]);
    fp_load_elements<V, e + 1>(a, offset, to);
  }
}

template <int V>
FP_FN void fp_load_item(const fp_args& a, unsigned index, fp_item<V>& item) {
  long long offset[FP_TENSORS];
  FP_UNROLL
  for (int t = 0; t < FP_TENSORS; ++t) offset[t] = 0;
  FP_UNROLL
  for (int axis = 0; axis < FP_AXES; ++axis) {
    const unsigned rest = axis + 1 < FP_AXES ? fp_divide(index, a.len[axis]) : 0;
    const long long at = index - rest * a.len[axis].divisor;
    FP_UNROLL
    for (int t = 0; t < FP_TENSORS; ++t) offset[t] += at * a.stride[axis][t];
    index = rest;
  }
  fp_load_lanes<FP_INPUT, 0, V>(a.input, offset[0], item.x);
  if (FP_READS_OUTPUT) fp_load_lanes<FP_OUTPUT, 1, V>(a.output, offset[1], item.before);
  fp_load_elements<V, 0>(a, offset, item.elements);
  item.out = offset[1];
  item.channel = offset[2];
}

// Of the piece's lanes where these are channels, else of its one channel.
template <int V>
FP_FN void fp_item_channels(const fp_args& a, long long channel, float (*to)[FP_CHANNELS + 1]) {
  FP_UNROLL
  for (int v = 0; v < V; ++v)
    if (v == 0 || (FP_LANES >> 2 & 1) != 0) fp_channels(a, channel + v, to[v]);
}

template <int V>
FP_FN void fp_finish_item(const fp_args& a, fp_item<V>& item, bool is_first,
                          float (*channels)[FP_CHANNELS + 1]) {
  if ((FP_LANES >> 2 & 1) == 0 || is_first) fp_item_channels<V>(a, item.channel, channels);
  FP_UNROLL
  for (int v = 0; v < V; ++v) {
    float elements[FP_ELEMENTS + 1];
    FP_UNROLL
    for (int e = 0; e < FP_ELEMENTS; ++e) elements[e] = item.elements[e][v];
    const int lane = (FP_LANES >> 2 & 1) != 0 ? v : 0;
    item.x[v] = fp_chain(a, item.x[v], item.before[v], channels[lane], elements);
  }
  if constexpr (V > 1) {
    fp_store_wide<FP_OUTPUT, V>(a.output, item.out, item.x);
  } else {
    fp_store<FP_OUTPUT>(a.output, item.out, item.x[0]);
  }
}

// A thread takes pieces that are a.step apart, FP_ITEMS at a time: all loads before the first use,
// so that their latencies overlap. Where lanes are channels all its pieces lie in the same ones,
// whose values are kept: computing them takes longer than the memory does for a piece.
template <int V>
FP_FN void fp_pass(const fp_args& a) {
  const unsigned thread = fp_block() * FP_THREADS + fp_thread();
  const unsigned chunk = fp_divide(thread, a.step);
  const long long step = a.step.divisor;
  const long long first = chunk * (FP_ITEMS * a.rounds * step) + (thread - chunk * step);
  if (first >= a.count) return;
  float channels[V][FP_CHANNELS + 1];
  for (unsigned round = 0; round < a.rounds; ++round) {
    const long long start = first + round * (FP_ITEMS * step);
    fp_item<V> items[FP_ITEMS];
    FP_UNROLL
    for (int i = 0; i < FP_ITEMS; ++i)
      if (start + i * step < a.count) fp_load_item<V>(a, (unsigned)(start + i * step), items[i]);
    FP_UNROLL
    for (int i = 0; i < FP_ITEMS; ++i)
      if (start + i * step < a.count) fp_finish_item<V>(a, items[i], round + i == 0, channels);
  }
}

#if FP_FLAT
// Where lane `index` lies: its place in its row, and its channel.
struct fp_lane {
  unsigned at;
  long long channel;
};
FP_FN fp_lane fp_lane_of(const fp_args& a, unsigned index) {
  unsigned rest = fp_divide(index, a.len[0]);
  fp_lane lane = {index - rest * a.len[0].divisor, 0};
  FP_UNROLL
  for (int axis = 1; axis < FP_AXES; ++axis) {
    const unsigned outer = axis + 1 < FP_AXES ? fp_divide(rest, a.len[axis]) : 0;
    lane.channel += (rest - outer * a.len[axis].divisor) * a.stride[axis][2];
    rest = outer;
  }
  return lane;
}

template <int V>
FP_FN void fp_load_flat(const fp_args& a, unsigned piece, fp_item<V>& item) {
  long long offset[FP_TENSORS];
  FP_UNROLL
  for (int t = 0; t < FP_TENSORS; ++t) offset[t] = (long long)piece * V;
  fp_load_lanes<FP_INPUT, 0, V>(a.input, offset[0], item.x);
  if (FP_READS_OUTPUT) fp_load_lanes<FP_OUTPUT, 1, V>(a.output, offset[1], item.before);
  fp_load_elements<V, 0>(a, offset, item.elements);
  item.out = offset[1];
}

// Lanes behind the end of the first one's row are in the next row.
template <int V>
FP_FN void fp_finish_flat(const fp_args& a, fp_item<V>& item) {
  const fp_lane first = fp_lane_of(a, (unsigned)item.out);
  const unsigned left = a.len[0].divisor - first.at;
  float here[FP_CHANNELS + 1], next[FP_CHANNELS + 1];
  fp_channels(a, first.channel, here);
  FP_UNROLL
  for (int c = 0; c < FP_CHANNELS; ++c) next[c] = here[c];
  if (left < V) fp_channels(a, fp_lane_of(a, (unsigned)item.out + left).channel, next);
  FP_UNROLL
  for (int v = 0; v < V; ++v) {
    float channels[FP_CHANNELS + 1], elements[FP_ELEMENTS + 1];
    FP_UNROLL
    for (int c = 0; c < FP_CHANNELS; ++c) channels[c] = v < left ? here[c] : next[c];
    FP_UNROLL
    for (int e = 0; e < FP_ELEMENTS; ++e) elements[e] = item.elements[e][v];
    item.x[v] = fp_chain(a, item.x[v], item.before[v], channels, elements);
  }
  fp_store_wide<FP_OUTPUT, V>(a.output, item.out, item.x);
}

FP_KERNEL_BLOCKS(fp_pointwise_flat, FP_THREADS, 2) {
  const unsigned thread = fp_block() * FP_THREADS + fp_thread();
  const unsigned chunk = fp_divide(thread, a.step), step = a.step.divisor;
  const unsigned first = chunk * FP_ITEMS * step + (thread - chunk * step);
  fp_item<FP_WIDE> items[FP_ITEMS];
  FP_UNROLL
  for (unsigned i = 0; i < FP_ITEMS; ++i)
    if (first + i * step < a.count) fp_load_flat(a, first + i * step, items[i]);
  FP_UNROLL
  for (unsigned i = 0; i < FP_ITEMS; ++i)
    if (first + i * step < a.count) fp_finish_flat(a, items[i]);
  if (thread >= a.rest) return;
  fp_item<1> last;
  float channels[1][FP_CHANNELS + 1];
  fp_load_item<1>(a, a.count * FP_WIDE + thread, last);
  fp_finish_item<1>(a, last, true, channels);
}
#endif

FP_KERNEL_BLOCKS(fp_pointwise, FP_THREADS, 2) { fp_pass<1>(a); }
#if FP_WIDE > 1
FP_KERNEL_BLOCKS(fp_pointwise_wide, FP_THREADS, 2) { fp_pass<FP_WIDE>(a); }
#endif
