// SPDX-License-Identifier: MIT
// V neighbours of a tensor that has them (bit t of FP_LANES), V times one value of another.

template <int type, int t, int V>
FP_FN void fp_load_lanes(const void* base, long long offset, float* values) {
  if constexpr (V > 1 && (FP_LANES >> t & 1) != 0) {
    fp_load_wide<type, V>(base, offset, values);
  } else {
    const float value = fp_load<type>(base, offset);
    FP_UNROLL
    for (int v = 0; v < V; ++v) values[v] = value;
  }
}
template <int type, int V>
FP_FN void fp_store_lanes(void* base, long long offset, const float* values) {
  if constexpr (V > 1) {
    fp_store_wide<type, V>(base, offset, values);
  } else {
    fp_store<type>(base, offset, values[0]);
  }
}
