// SPDX-License-Identifier: MIT
// Kernels that sum over groups of elements: where a thread's groups and their members lie, and how
// it loads them. Axes are counted from the innermost in memory.

// Tensors of groups besides: the statistics, the channel number as if it were one.
#define FP_STATISTICS FP_DATA
#define FP_CHANNEL_NUMBER (FP_DATA + 1)
#define FP_GROUPS_OF(V) (FP_ALONG ? (V) : 1)

// What a thread works on: V groups at `unit`, or one, and the members [first, last) of the block.
struct fp_share {
  unsigned unit, first, last;
  bool inside;
  long long base[FP_DATA], statistics, channel;
};

FP_FN void fp_walk_groups(const fp_args& a, unsigned index, fp_share& share) {
  long long at[FP_DATA + 2];
  FP_UNROLL
  for (int t = 0; t < FP_DATA + 2; ++t) at[t] = 0;
  FP_UNROLL
  for (int axis = 0; axis < FP_GROUP_AXES; ++axis) {
    const unsigned rest = axis + 1 < FP_GROUP_AXES ? fp_divide(index, a.group_len[axis]) : 0;
    const long long step = index - rest * a.group_len[axis].divisor;
    FP_UNROLL
    for (int t = 0; t < FP_DATA + 2; ++t) at[t] += step * a.group_stride[axis][t];
    index = rest;
  }
  FP_UNROLL
  for (int t = 0; t < FP_DATA; ++t) share.base[t] = at[t];
  share.statistics = at[FP_STATISTICS];
  share.channel = at[FP_CHANNEL_NUMBER];
}
FP_FN void fp_walk_members(const fp_args& a, const fp_share& share, unsigned index, long long* at) {
  FP_UNROLL
  for (int t = 0; t < FP_DATA; ++t) at[t] = share.base[t];
  FP_UNROLL
  for (int axis = 0; axis < FP_MEMBER_AXES; ++axis) {
    const unsigned rest = axis + 1 < FP_MEMBER_AXES ? fp_divide(index, a.member_len[axis]) : 0;
    const long long step = index - rest * a.member_len[axis].divisor;
    FP_UNROLL
    for (int t = 0; t < FP_DATA; ++t) at[t] += step * a.member_stride[axis][t];
    index = rest;
  }
}

template <int L>
FP_FN fp_share fp_share_of(const fp_args& a, unsigned slab, unsigned chunk) {
  fp_share share;
  share.unit = slab * L + fp_thread() % L;
  share.inside = share.unit < a.groups;
  if (!share.inside) share.unit = a.groups - 1;
  share.first = chunk * a.chunk;
  const unsigned last = share.first + a.chunk;
  share.last = !share.inside ? share.first : last < a.members ? last : a.members;
  fp_walk_groups(a, share.unit, share);
  return share;
}

template <int V>
struct fp_item {
  float x[V], before[V], elements[FP_ELEMENTS + 1][V];
  long long out;
};

// What the launch computes itself is no tensor of the caller's.
template <int V, int e>
FP_FN void fp_load_elements(const fp_args& a, const long long* at, float (*to)[V]) {
  if constexpr (e < FP_ELEMENTS) {
    if constexpr (e != FP_FIRST_ELEMENT && e != FP_SECOND_ELEMENT)
      fp_load_lanes<fp_element_types[e], 2 + e, V>(a.elements[e], at[2 + e], to[e]);
    fp_load_elements<V, e + 1>(a, at, to);
  }
}
template <int V>
FP_FN void fp_load_item(const fp_args& a, const fp_share& share, unsigned member, bool second,
                        fp_item<V>& item) {
  long long at[FP_DATA];
  fp_walk_members(a, share, member, at);
  fp_load_lanes<FP_INPUT, 0, V>(a.input, at[0], item.x);
  if (FP_BACKWARD || second) fp_load_elements<V, 0>(a, at, item.elements);
  if (FP_READS_OUTPUT && second) fp_load_lanes<FP_OUTPUT, 1, V>(a.output, at[1], item.before);
  item.out = at[1];
}
