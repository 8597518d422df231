// SPDX-License-Identifier: MIT
// What kernels/gpu/dialect/fp_hopper.h has, for the host: calls of the engine's model of it
// (hopper_model.hpp).
#pragma once

/// The model's functions, which the engine sets.
struct fp_hopper {
  struct product {
    const void *a, *b;
    float* d;
    unsigned columns, more;
    int type;  ///< as dialect/fp_dev.h numbers them
  };
  struct load {
    void* to;
    const void* map;
    unsigned long long* bar;
    int at[4];
    unsigned short taps[2];
    bool im2col;
  };
  void (*named_barrier)(fp_machine*, int line, unsigned id, unsigned threads);
  void (*bar_init)(fp_machine*, unsigned long long* bar, unsigned count);
  void (*bar_publish)(fp_machine*);
  void (*bar_arrive)(fp_machine*, unsigned long long* bar, unsigned bytes);
  void (*bar_wait)(fp_machine*, unsigned long long* bar, unsigned parity);
  void (*copy_in)(fp_machine*, const load&);
  void (*copy_out)(fp_machine*, const void* map, const void* from, int x, int y);
  void (*copy_commit)(fp_machine*);
  void (*copy_wait)(fp_machine*, unsigned left);
  void (*fence_async)(fp_machine*);
  void (*store_piece)(fp_machine*, void* to, const void* words);
  void (*store_matrices)(fp_machine*, int line, void* row, const unsigned* words);
  void (*multiply)(fp_machine*, int line, product what);
  void (*multiply_fence)(fp_machine*);
  void (*multiply_commit)(fp_machine*, int line);
  void (*multiply_wait)(fp_machine*, int line, unsigned left);
  void (*registers)(fp_machine*, int line, unsigned count, bool more);
  unsigned blocks;
  unsigned char* shared;
};

#if !defined(FP_EMULATOR_ENGINE)

struct fp_tensor_map;
typedef unsigned long long fp_mbar;
#define FP_HOPPER fp_now->hopper

#define FP_KERNEL_HOPPER(name, threads) FP_KERNEL(name, threads)
#define FP_SHARED_HOPPER(name) unsigned char* const name = FP_HOPPER->shared

FP_FN unsigned fp_blocks() { return FP_HOPPER->blocks; }
FP_FN unsigned fp_warp() { return fp_now->thread / 32; }
FP_FN void fp_named_barrier(unsigned id, unsigned threads, FP_HERE) {
  FP_HOPPER->named_barrier(fp_now, line, id, threads);
}

FP_FN void fp_mbar_init(fp_mbar* bar, unsigned count) { FP_HOPPER->bar_init(fp_now, bar, count); }
FP_FN void fp_mbar_publish() { FP_HOPPER->bar_publish(fp_now); }
FP_FN void fp_mbar_arrive(fp_mbar* bar) { FP_HOPPER->bar_arrive(fp_now, bar, 0); }
FP_FN void fp_mbar_expect(fp_mbar* bar, unsigned bytes) {
  FP_HOPPER->bar_arrive(fp_now, bar, bytes);
}
FP_FN void fp_mbar_wait(fp_mbar* bar, unsigned parity) { FP_HOPPER->bar_wait(fp_now, bar, parity); }

FP_FN void fp_tma_prefetch_map(const fp_tensor_map&) {}
FP_FN void fp_tma_load(void* to, const fp_tensor_map& map, fp_mbar* bar, int x, int y, int z,
                       int u) {
  FP_HOPPER->copy_in(fp_now, {to, &map, bar, {x, y, z, u}, {0, 0}, false});
}
FP_FN void fp_tma_load_im2col(void* to, const fp_tensor_map& map, fp_mbar* bar, int c, int w, int h,
                              int n, unsigned short tap_w, unsigned short tap_h) {
  FP_HOPPER->copy_in(fp_now, {to, &map, bar, {c, w, h, n}, {tap_w, tap_h}, true});
}
FP_FN void fp_tma_store(const fp_tensor_map& map, const void* from, int x, int y) {
  FP_HOPPER->copy_out(fp_now, &map, from, x, y);
}
FP_FN void fp_tma_commit() { FP_HOPPER->copy_commit(fp_now); }
template <int N>
FP_FN void fp_tma_wait_read() {
  FP_HOPPER->copy_wait(fp_now, N);
}
FP_FN void fp_tma_wait_all() { FP_HOPPER->copy_wait(fp_now, 0); }
FP_FN void fp_fence_async() { FP_HOPPER->fence_async(fp_now); }
FP_FN unsigned fp_get16(const void* base, unsigned index, unsigned bytes) {
  return fp_get<unsigned short>(base, static_cast<long long>(index) * bytes / 2);
}
FP_FN unsigned fp_get32(const void* base, unsigned index, unsigned bytes) {
  return fp_get<unsigned>(base, static_cast<long long>(index) * bytes / 4);
}
FP_FN unsigned fp_permute(unsigned first, unsigned second, unsigned selector) {
  const unsigned long long words = static_cast<unsigned long long>(second) << 32 | first;
  unsigned result = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    result |= static_cast<unsigned>(words >> (selector >> 4 * byte & 7) * 8 & 0xff) << 8 * byte;
  return result;
}
FP_FN void fp_st16_async(void* to, const fp_vec& words) {
  FP_HOPPER->store_piece(fp_now, to, static_cast<const void*>(&words));
}
FP_FN void fp_stsm4(void* row, const unsigned (&words)[4], FP_HERE) {
  FP_HOPPER->store_matrices(fp_now, line, row, words);
}

template <int N>
FP_FN void fp_regs_less(FP_HERE) {
  FP_HOPPER->registers(fp_now, line, N, false);
}
template <int N>
FP_FN void fp_regs_more(FP_HERE) {
  FP_HOPPER->registers(fp_now, line, N, true);
}
template <int type, int N>
FP_FN void fp_wgmma(float (&d)[N / 2], const void* a, const void* b, unsigned more, FP_HERE) {
  FP_HOPPER->multiply(fp_now, line, {a, b, d, N, more, type});
}
FP_FN void fp_wgmma_fence() { FP_HOPPER->multiply_fence(fp_now); }
FP_FN void fp_wgmma_commit(FP_HERE) { FP_HOPPER->multiply_commit(fp_now, line); }
template <int N>
FP_FN void fp_wgmma_wait(FP_HERE) {
  FP_HOPPER->multiply_wait(fp_now, line, N);
}
template <int N>
FP_FN void fp_wgmma_ready(float (&)[N]) {}

#endif
