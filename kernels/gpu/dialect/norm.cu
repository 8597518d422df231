// SPDX-License-Identifier: MIT
// Batch normalisation for training: sums over the members of each group (a channel's elements, or
// the batch's at one place), then the chain over the same elements. A block owns a slab of groups:
// FP_THREADS threads, L of them along groups. Where groups are neighbours in memory (FP_ALONG) a
// thread holds V of them, else V members of one.
//   fp_norm    everything in one launch, the second pass from the last element to the first, which
//              the caches still hold. With FP_CLUSTERS the blocks of a cluster share the members of
//              their slab, and their sums through their shared memory.
//   fp_norm_part, fp_norm_join, fp_norm_apply    the same with a slab cut into chunks of members.
//              The output holds the parts' sums until the last of the three overwrites it.
// No sum depends on the order in which blocks or threads run.

// Results, in forward and backward order. The first two are what the second pass reads.
enum { FP_MEAN = 0, FP_INVERSE = 1, FP_VARIANCE = 2, FP_RUNNING_MEAN = 3, FP_RUNNING_VARIANCE = 4 };
enum { FP_BIAS_GRADIENT = 0, FP_SCALE_GRADIENT = 1 };

// Of the values that a thread, a block or a chunk has seen. Forward: their mean, as a difference
// from the group's first value, and the sum of squared differences from it. Backward: two sums.
template <int V>
struct fp_total {
  float n, a[FP_GROUPS_OF(V)], b[FP_GROUPS_OF(V)];
};

// Moments of two sets as those of one (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a
// pairwise algorithm for computing sample variances", 1979). `share` is n / (before + n).
FP_FN void fp_merge(float before, float share, float a, float b, float& to_a, float& to_b) {
  if (FP_BACKWARD) {
    to_a += a;
    to_b += b;
    return;
  }
  const float apart = a - to_a;
  to_a = fmaf(apart, share, to_a);
  to_b += fmaf(apart * apart, before * share, b);
}
template <int V>
FP_FN void fp_add_total(const fp_total<V>& more, fp_total<V>& to) {
  const float n = to.n + more.n, share = more.n > 0.0f ? more.n / n : 0.0f;
  FP_UNROLL
  for (int g = 0; g < FP_GROUPS_OF(V); ++g)
    fp_merge(to.n, share, more.a[g], more.b[g], to.a[g], to.b[g]);
  to.n = n;
}

#if FP_BACKWARD
// The values of channels that the sums read, of each of a thread's groups.
template <int V>
struct fp_context {
  float channels[FP_GROUPS_OF(V)][FP_SUMS_CHANNELS + 1];
};
template <int V>
FP_FN void fp_prepare(const fp_args& a, const fp_share& share, fp_context<V>& context) {
  FP_UNROLL
  for (int g = 0; g < FP_GROUPS_OF(V); ++g)
    fp_sums_channels(a, share.channel + g * a.channel_step, context.channels[g]);
}
template <int V>
FP_FN float fp_first(const fp_context<V>&, int) {
  return 0.0f;
}
// The values of up to FP_ITEMS items, `count` of which there are.
template <int V>
FP_FN void fp_take(const fp_args& a, const fp_context<V>& context, const fp_item<V>* items,
                   int count, fp_total<V>& total) {
  FP_UNROLL
  for (int i = 0; i < FP_ITEMS; ++i) {
    if (i >= count) continue;
    FP_UNROLL
    for (int v = 0; v < V; ++v) {
      const int g = FP_ALONG ? v : 0;
      float elements[FP_ELEMENTS + 1], sums[2];
      FP_UNROLL
      for (int e = 0; e < FP_ELEMENTS; ++e) elements[e] = items[i].elements[e][v];
      fp_sums(a, items[i].x[v], context.channels[g], elements, sums);
      total.a[g] += sums[0];
      total.b[g] += sums[1];
    }
  }
}
#else
// Each group's first value. Moments of differences from it round as differences do, however far
// from zero the values are.
template <int V>
struct fp_context {
  float first[FP_GROUPS_OF(V)];
};
template <int V>
FP_FN void fp_prepare(const fp_args& a, const fp_share& share, fp_context<V>& context) {
  fp_load_lanes<FP_INPUT, 0, FP_GROUPS_OF(V)>(a.input, share.base[0], context.first);
}
template <int V>
FP_FN float fp_first(const fp_context<V>& context, int g) {
  return context.first[g];
}
template <int V>
FP_FN void fp_take(const fp_args&, const fp_context<V>& context, const fp_item<V>* items, int count,
                   fp_total<V>& total) {
  constexpr int each = V / FP_GROUPS_OF(V);  // values of an item and a group
  const float n = (float)(count * each), share = n / (total.n + n), one = 1.0f / n;
  FP_UNROLL
  for (int g = 0; g < FP_GROUPS_OF(V); ++g) {
    float sum = 0.0f, squares = 0.0f;
    FP_UNROLL
    for (int i = 0; i < FP_ITEMS; ++i) {
      FP_UNROLL
      for (int v = g; v < g + each; ++v)
        if (i < count) sum += items[i].x[v] - context.first[g];
    }
    const float mean = sum * one;
    FP_UNROLL
    for (int i = 0; i < FP_ITEMS; ++i) {
      FP_UNROLL
      for (int v = g; v < g + each; ++v) {
        const float apart = items[i].x[v] - context.first[g] - mean;
        if (i < count) squares = fmaf(apart, apart, squares);
      }
    }
    fp_merge(total.n, share, mean, squares, total.a[g], total.b[g]);
  }
  total.n += n;
}
#endif

template <int V, int L>
FP_FN void fp_sum_share(const fp_args& a, const fp_share& share, const fp_context<V>& context,
                        fp_total<V>& total) {
  constexpr unsigned rows = FP_THREADS / L;
  total.n = 0.0f;
  FP_UNROLL
  for (int g = 0; g < FP_GROUPS_OF(V); ++g) total.a[g] = total.b[g] = 0.0f;
  FP_ONE_BY_ONE
  for (unsigned m = share.first + fp_thread() / L; m < share.last; m += rows * FP_ITEMS) {
    fp_item<V> items[FP_ITEMS];
    int count = 0;
    FP_UNROLL
    for (int i = 0; i < FP_ITEMS; ++i)
      if (m + i * rows < share.last) {
        fp_load_item<V>(a, share, m + i * rows, false, items[i]);
        count = i + 1;
      }
    fp_take<V>(a, context, items, count, total);
  }
}

// The totals of a block's rows, halved until the first holds all. An odd number of floats for each
// thread keeps them in different banks.
template <int V, int L>
FP_FN void fp_join_rows(fp_total<V>& total, float* shared) {
  constexpr int groups = FP_GROUPS_OF(V), each = 2 * groups + 1;
  const unsigned row = fp_thread() / L;
  FP_ONE_BY_ONE
  for (unsigned half = FP_THREADS / L / 2; half > 0; half /= 2) {
    if (row >= half && row < 2 * half) {
      float* to = shared + (fp_thread() - half * L) * each;
      to[2 * groups] = total.n;
      FP_UNROLL
      for (int g = 0; g < groups; ++g) to[2 * g] = total.a[g], to[2 * g + 1] = total.b[g];
    }
    fp_barrier();
    if (row < half) {
      const float* from = shared + fp_thread() * each;
      fp_total<V> more;
      more.n = from[2 * groups];
      FP_UNROLL
      for (int g = 0; g < groups; ++g) more.a[g] = from[2 * g], more.b[g] = from[2 * g + 1];
      fp_add_total<V>(more, total);
    }
    fp_barrier();
  }
}

FP_FN void fp_give(const fp_args& a, int result, long long at, float value) {
  if (a.results[result] != nullptr) fp_put<float>(a.results[result], at, value);
}
FP_FN void fp_average(const fp_args& a, int result, long long at, float value) {
  if (a.results[result] == nullptr) return;
  const float before = fp_get<float>(a.results[result], at);
  fp_put<float>(a.results[result], at, fmaf(a.factor, value, (1.0f - a.factor) * before));
}

// What the second pass reads of a group, and what the caller gets, from one of those that know it.
struct fp_pair {
  float first, second;
};
FP_FN fp_pair fp_results(const fp_args& a, long long at, float sum, float product, bool gives) {
  if (FP_BACKWARD) {
    if (gives) {
      fp_give(a, FP_BIAS_GRADIENT, at, sum);
      fp_give(a, FP_SCALE_GRADIENT, at, product);
    }
    return {sum / a.count, product / a.count};
  }
  const float mean = sum, variance = product / a.count;
  const float inverse = 1.0f / sqrtf(variance + a.epsilon);
  if (!gives) return {mean, inverse};
  fp_give(a, FP_MEAN, at, mean);
  fp_give(a, FP_INVERSE, at, inverse);
  fp_give(a, FP_VARIANCE, at, variance);
  fp_average(a, FP_RUNNING_MEAN, at, mean);
  fp_average(a, FP_RUNNING_VARIANCE, at, product / a.freedom);
  return {mean, inverse};
}
// The block's results, known to all its threads.
template <int V, int L>
FP_FN void fp_share_results(const fp_args& a, const fp_share& share, const fp_context<V>& context,
                            const fp_total<V>& total, bool gives, float* shared, fp_pair* pairs) {
  constexpr int groups = FP_GROUPS_OF(V);
  float* mine = shared + fp_thread() % L * (2 * groups);
  if (fp_thread() < L && share.inside) {
    FP_UNROLL
    for (int g = 0; g < groups; ++g) {
      const fp_pair pair = fp_results(a, share.statistics + g * a.statistics_step,
                                      fp_first<V>(context, g) + total.a[g], total.b[g], gives);
      mine[2 * g] = pair.first, mine[2 * g + 1] = pair.second;
    }
  }
  fp_barrier();
  FP_UNROLL
  for (int g = 0; g < groups; ++g) pairs[g] = {mine[2 * g], mine[2 * g + 1]};
}

template <int V>
FP_FN void fp_finish_item(const fp_args& a, fp_item<V>& item, const fp_pair* pairs,
                          const float (*channels)[FP_CHANNELS + 1]) {
  FP_UNROLL
  for (int v = 0; v < V; ++v) {
    const int g = FP_ALONG ? v : 0;
    float elements[FP_ELEMENTS + 1];
    FP_UNROLL
    for (int e = 0; e < FP_ELEMENTS; ++e)
      elements[e] = e == FP_FIRST_ELEMENT    ? pairs[g].first
                    : e == FP_SECOND_ELEMENT ? pairs[g].second
                                             : item.elements[e][v];
    item.x[v] = fp_chain(a, item.x[v], item.before[v], channels[g], elements);
  }
  fp_store_lanes<FP_OUTPUT, V>(a.output, item.out, item.x);
}

template <int V, int L>
FP_FN void fp_finish_share(const fp_args& a, const fp_share& share, const fp_pair* pairs) {
  constexpr unsigned rows = FP_THREADS / L;
  float channels[FP_GROUPS_OF(V)][FP_CHANNELS + 1];
  FP_UNROLL
  for (int g = 0; g < FP_GROUPS_OF(V); ++g)
    fp_channels(a, share.channel + g * a.channel_step, pairs[g].first, pairs[g].second,
                channels[g]);
  FP_ONE_BY_ONE
  for (unsigned m = share.first + fp_thread() / L; m < share.last; m += rows * FP_ITEMS) {
    fp_item<V> items[FP_ITEMS];
    FP_UNROLL
    for (int i = 0; i < FP_ITEMS; ++i)
      if (m + i * rows < share.last)
        fp_load_item<V>(a, share, share.last - 1 - (m - share.first) - i * rows, true, items[i]);
    FP_UNROLL
    for (int i = 0; i < FP_ITEMS; ++i)
      if (m + i * rows < share.last) fp_finish_item<V>(a, items[i], pairs, channels);
  }
}

#if FP_CLUSTERS
FP_FN unsigned fp_slab() { return fp_cluster(); }
FP_FN unsigned fp_slab_part() { return fp_cluster_rank(); }

// The totals of all blocks of the cluster, in order of rank, so that each finds the same. They lie
// where the rows' lay, which were read before the barrier.
template <int V, int L>
FP_FN void fp_join_cluster(fp_total<V>& total, float* shared) {
  constexpr int groups = FP_GROUPS_OF(V), each = 2 * groups + 1;
  float* mine = shared + fp_thread() % L * each;
  if (fp_thread() < L) {
    mine[2 * groups] = total.n;
    FP_UNROLL
    for (int g = 0; g < groups; ++g) mine[2 * g] = total.a[g], mine[2 * g + 1] = total.b[g];
  }
  fp_cluster_barrier();
  if (fp_thread() >= L) return;
  total.n = 0.0f;
  FP_UNROLL
  for (int g = 0; g < groups; ++g) total.a[g] = total.b[g] = 0.0f;
  FP_ONE_BY_ONE
  for (unsigned rank = 0; rank < fp_cluster_blocks(); ++rank) {
    fp_total<V> more;
    more.n = fp_cluster_load(mine + 2 * groups, rank);
    FP_UNROLL
    for (int g = 0; g < groups; ++g) {
      more.a[g] = fp_cluster_load(mine + 2 * g, rank);
      more.b[g] = fp_cluster_load(mine + 2 * g + 1, rank);
    }
    fp_add_total<V>(more, total);
  }
}
#else
FP_FN unsigned fp_slab() { return fp_block(); }
FP_FN unsigned fp_slab_part() { return 0; }
#endif

template <int V, int L>
FP_FN void fp_whole(const fp_args& a, float* shared) {
  const fp_share share = fp_share_of<L>(a, fp_slab(), fp_slab_part());
  fp_context<V> context;
  fp_prepare<V>(a, share, context);
  fp_total<V> total;
  fp_sum_share<V, L>(a, share, context, total);
  fp_join_rows<V, L>(total, shared);
#if FP_CLUSTERS
  fp_join_cluster<V, L>(total, shared);
  fp_cluster_arrive();
  shared += L * (2 * FP_GROUPS_OF(V) + 1);  // the others may still read the totals
#endif
  fp_pair pairs[FP_GROUPS_OF(V)];
  fp_share_results<V, L>(a, share, context, total, fp_slab_part() == 0, shared, pairs);
  fp_finish_share<V, L>(a, share, pairs);
#if FP_CLUSTERS
  fp_cluster_wait();
#endif
}

// Where a slab's chunks are blocks far apart.
template <int L>
FP_FN fp_share fp_chunk_of(const fp_args& a) {
  const unsigned chunk = fp_divide(fp_block(), a.slabs);
  return fp_share_of<L>(a, fp_block() - chunk * a.slabs.divisor, chunk);
}

// A part's sums of a group: three numbers, of all groups for each chunk.
FP_FN long long fp_part_at(const fp_args& a, unsigned chunk, unsigned group) {
  return ((long long)chunk * a.all_groups + group) * 3;
}
template <int V, int L>
FP_FN void fp_part(const fp_args& a, float* shared) {
  const fp_share share = fp_chunk_of<L>(a);
  fp_context<V> context;
  fp_prepare<V>(a, share, context);
  fp_total<V> total;
  fp_sum_share<V, L>(a, share, context, total);
  fp_join_rows<V, L>(total, shared);
  if (fp_thread() >= L || !share.inside) return;
  const unsigned chunk = fp_divide(fp_block(), a.slabs);
  FP_UNROLL
  for (int g = 0; g < FP_GROUPS_OF(V); ++g) {
    const long long at = fp_part_at(a, chunk, share.unit * FP_GROUPS_OF(V) + g);
    fp_put<float>(a.output, at, total.n);
    fp_put<float>(a.output, at + 1, total.a[g]);
    fp_put<float>(a.output, at + 2, total.b[g]);
  }
}

template <int V, int L>
FP_FN void fp_apply(const fp_args& a) {
  const fp_share share = fp_chunk_of<L>(a);
  const float unit = FP_BACKWARD ? a.count : 1.0f;
  fp_pair pairs[FP_GROUPS_OF(V)];
  FP_UNROLL
  for (int g = 0; g < FP_GROUPS_OF(V); ++g) {
    const long long at = share.statistics + g * a.statistics_step;
    pairs[g] = {fp_get<float>(a.results[0], at) / unit, fp_get<float>(a.results[1], at) / unit};
  }
  fp_finish_share<V, L>(a, share, pairs);
}

FP_KERNEL(fp_norm, FP_THREADS) {
  FP_SHARED(shared);
  fp_whole<1, FP_ROW>(a, shared);
}
FP_KERNEL(fp_norm_part, FP_THREADS) {
  FP_SHARED(shared);
  fp_part<1, FP_ROW>(a, shared);
}
FP_KERNEL(fp_norm_apply, FP_THREADS) { fp_apply<1, FP_ROW>(a); }

// A group for each thread, its parts in order.
FP_KERNEL(fp_norm_join, FP_JOIN_THREADS) {
  const unsigned group = fp_block() * FP_JOIN_THREADS + fp_thread();
  if (group >= a.groups) return;
  fp_share share;
  fp_walk_groups(a, group, share);
  fp_context<1> context;
  fp_prepare<1>(a, share, context);
  fp_total<1> total = {0.0f, {0.0f}, {0.0f}};
  for (unsigned chunk = 0; chunk < a.chunks; ++chunk) {
    const long long at = fp_part_at(a, chunk, group);
    const fp_total<1> more = {fp_get<float>(a.output, at),
                              {fp_get<float>(a.output, at + 1)},
                              {fp_get<float>(a.output, at + 2)}};
    fp_add_total<1>(more, total);
  }
  fp_results(a, share.statistics, fp_first<1>(context, 0) + total.a[0], total.b[0], true);
}

#if FP_WIDE > 1
FP_KERNEL(fp_norm_wide, FP_THREADS) {
  FP_SHARED(shared);
  fp_whole<FP_WIDE, FP_WIDE_ROW>(a, shared);
}
FP_KERNEL(fp_norm_part_wide, FP_THREADS) {
  FP_SHARED(shared);
  fp_part<FP_WIDE, FP_WIDE_ROW>(a, shared);
}
FP_KERNEL(fp_norm_apply_wide, FP_THREADS) { fp_apply<FP_WIDE, FP_WIDE_ROW>(a); }
#endif
