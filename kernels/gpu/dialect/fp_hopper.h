// SPDX-License-Identifier: MIT
// What only sm_90a has, as PTX ISA 8.0 describes it: mbarriers, the tensor copy engine (TMA),
// matrix products of a warpgroup (wgmma) and registers that move between warpgroups. The emulator's
// twin is test/emulator/fp_emulator_hopper.h.

typedef unsigned long long fp_mbar;

#if !defined(FP_EMULATOR)

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "this kernel is for sm_90a, which NVRTC knows from version 12.0 on"
#endif

// The copy engine reads tensor maps in place: the argument block must not be copied.
#define FP_KERNEL_HOPPER(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads, 1) name(const __grid_constant__ fp_args a)
#define FP_SHARED_HOPPER(name)                                   \
  extern __shared__ __align__(1024) unsigned char fp_arena_90[]; \
  unsigned char* const name = fp_arena_90

FP_FN unsigned fp_blocks() { return gridDim.x; }
FP_FN unsigned fp_smem(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }

// The warp's number as a value that is the same in all lanes.
FP_FN unsigned fp_warp() { return __shfl_sync(~0u, threadIdx.x / 32, 0); }
#define fp_named_barrier(id, threads) \
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory")

// mbarriers: a phase ends when `count` threads have arrived and all expected bytes are there.
FP_FN void fp_mbar_init(fp_mbar* bar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(fp_smem(bar)), "r"(count)
               : "memory");
}
// Makes initialised barriers known to the copy engine; then all threads must meet.
FP_FN void fp_mbar_publish() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
FP_FN void fp_mbar_arrive(fp_mbar* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(fp_smem(bar)) : "memory");
}
FP_FN void fp_mbar_expect(fp_mbar* bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(fp_smem(bar)),
               "r"(bytes)
               : "memory");
}
// Returns when the phase of that parity has ended.
FP_FN void fp_mbar_wait(fp_mbar* bar, unsigned parity) {
  asm volatile(
      "{\n.reg .pred ended;\n"
      "again:\nmbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@ended bra over;\nbra again;\nover:\n}" ::"r"(fp_smem(bar)),
      "r"(parity)
      : "memory");
}

// Tensor copies. Coordinates run from the innermost axis outwards.
FP_FN void fp_tma_prefetch_map(const fp_tensor_map& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
FP_FN void fp_tma_load(void* to, const fp_tensor_map& map, fp_mbar* bar, int x, int y, int z,
                       int u) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(fp_smem(to)),
      "l"(&map), "r"(fp_smem(bar)), "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}
// Pixels from (w, h, n) on, in steps, wrapping at the map's box; the filter's tap is added.
FP_FN void fp_tma_load_im2col(void* to, const fp_tensor_map& map, fp_mbar* bar, int c, int w, int h,
                              int n, unsigned short tap_w, unsigned short tap_h) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(fp_smem(to)),
      "l"(&map), "r"(fp_smem(bar)), "r"(c), "r"(w), "r"(h), "r"(n), "h"(tap_w), "h"(tap_h)
      : "memory");
}
FP_FN void fp_tma_store(const fp_tensor_map& map, const void* from, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
          &map),
      "r"(fp_smem(from)), "r"(x), "r"(y)
      : "memory");
}
FP_FN void fp_tma_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all but the thread's newest N groups have read their shared memory.
template <int N>
FP_FN void fp_tma_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
// ... until all have been written.
FP_FN void fp_tma_wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// Between the thread's own stores to shared memory and their reading by the copy engine or the
// tensor cores.
FP_FN void fp_fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// 16 bits at base[index], above them zeros, or 32. `bytes` is 2 or 4, which the compiler must not
// know: it would take two instructions and a carry for the address, where a product takes one.
#define FP_GET(name, type)                                                                         \
  FP_FN unsigned name(const void* base, unsigned index, unsigned bytes) {                          \
    unsigned value;                                                                                \
    asm volatile("{\n.reg .b64 at;\nmad.wide.u32 at, %2, %3, %1;\nld.global." type " %0, [at];\n}" \
                 : "=r"(value)                                                                     \
                 : "l"(base), "r"(index), "r"(bytes));                                             \
    return value;                                                                                  \
  }
FP_GET(fp_get16, "u16")
FP_GET(fp_get32, "u32")
// Four bytes of the two words: `selector` has a digit for each, the lowest byte's first, which
// counts from the first word's lowest byte on.
FP_FN unsigned fp_permute(unsigned first, unsigned second, unsigned selector) {
  return __byte_perm(first, second, selector);
}
// What the copy engine and the tensor cores read after the thread's fence.
FP_FN void fp_st16_async(void* to, const fp_vec& words) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(fp_smem(to)), "r"(words.w[0]),
               "r"(words.w[1]), "r"(words.w[2]), "r"(words.w[3])
               : "memory");
}
// Four 8x8 matrices of 16-bit values: lane l gives the address of row l % 8 of matrix l / 8 and, in
// word m, columns 2 (l % 4) and the next of row l / 4 of matrix m.
FP_FN void fp_stsm4(void* row, const unsigned (&words)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(fp_smem(row)),
      "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
      : "memory");
}

template <int N>
FP_FN void fp_regs_less() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
FP_FN void fp_regs_more() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

// d += a b', a of 64 rows, b of N, both of 32 bytes (16 values; 8 of f32, which have been rounded
// to tf32: the cores leave the lower 13 bits out) that continue along rows of 128 bytes, whose
// 16-byte pieces are swizzled: piece p of row r lies at p ^ r % 8. Groups of 8 rows start at
// multiples of 1024. With more == 0, d is overwritten. Thread t of the warpgroup holds in d[e] row
// 16 (t / 32) + t % 32 / 4 + 8 (e / 2 % 2), column 8 (e / 4) + 2 (t % 4) + e % 2.
FP_FN unsigned long long fp_swizzled(const void* at) {
  const unsigned long long groups = 1024 >> 4, swizzle_128 = 1;
  return ((fp_smem(at) & 0x3ffffu) >> 4) | 1ull << 16 | groups << 32 | swizzle_128 << 62;
}

#define FP_OUT_8(d, i)                                                                        \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define FP_OUT_32(d, i) FP_OUT_8(d, i), FP_OUT_8(d, i + 8), FP_OUT_8(d, i + 16), FP_OUT_8(d, i + 24)
#define FP_LIST_0                                                          \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19," \
  "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define FP_LIST_32                                                \
  FP_LIST_0                                                       \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46," \
  "%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define FP_LIST_64                                                \
  FP_LIST_32                                                      \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78," \
  "%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define FP_LIST_96                                                              \
  FP_LIST_64                                                                    \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,"              \
  "%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123," \
  "%124,%125,%126,%127"
// `what` is depth and types; `major` says that both factors' depth is contiguous, where types leave
// a choice.
#define FP_WGMMA_ASM(what, major, n, list, a_at, b_at, more_at, ...)                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" more_at                                \
               ", 0;\n"                                                                    \
               "wgmma.mma_async.sync.aligned.m64n" n what " {" list "}, %" a_at ", %" b_at \
               ", p, 1, 1" major ";\n}"                                                    \
               : __VA_ARGS__                                                               \
               : "l"(from_a), "l"(from_b), "r"(more))
#define FP_WGMMA_TYPE(what, major)                                                     \
  if constexpr (N == 64) {                                                             \
    FP_WGMMA_ASM(what, major, "64", FP_LIST_0, "32", "33", "34", FP_OUT_32(d, 0));     \
  } else if constexpr (N == 128) {                                                     \
    FP_WGMMA_ASM(what, major, "128", FP_LIST_32, "64", "65", "66", FP_OUT_32(d, 0),    \
                 FP_OUT_32(d, 32));                                                    \
  } else if constexpr (N == 192) {                                                     \
    FP_WGMMA_ASM(what, major, "192", FP_LIST_64, "96", "97", "98", FP_OUT_32(d, 0),    \
                 FP_OUT_32(d, 32), FP_OUT_32(d, 64));                                  \
  } else {                                                                             \
    static_assert(N == 256, "64, 128, 192 or 256 columns");                            \
    FP_WGMMA_ASM(what, major, "256", FP_LIST_96, "128", "129", "130", FP_OUT_32(d, 0), \
                 FP_OUT_32(d, 32), FP_OUT_32(d, 64), FP_OUT_32(d, 96));                \
  }
template <int type, int N>
FP_FN void fp_wgmma(float (&d)[N / 2], const void* a, const void* b, unsigned more) {
  const unsigned long long from_a = fp_swizzled(a), from_b = fp_swizzled(b);
  if constexpr (type == FP_F16) {
    FP_WGMMA_TYPE("k16.f32.f16.f16", ", 0, 0")
  } else if constexpr (type == FP_BF16) {
    FP_WGMMA_TYPE("k16.f32.bf16.bf16", ", 0, 0")
  } else {
    static_assert(type == FP_F32, "f16, bf16 or f32");
    FP_WGMMA_TYPE("k8.f32.tf32.tf32", "")
  }
}
// Before the first product, and after other code has written to d.
FP_FN void fp_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FP_FN void fp_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits for all but the newest N groups.
template <int N>
FP_FN void fp_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// The compiler may not use d from before this point after it.
template <int N>
FP_FN void fp_wgmma_ready(float (&d)[N]) {
  FP_UNROLL
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

#endif
