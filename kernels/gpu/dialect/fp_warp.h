// SPDX-License-Identifier: MIT
// What the threads of a warp do together, and copies into shared memory that land later: CUDA from
// sm_75 on. A shared address is what fp_shared_at gives, in bytes. test/emulator/fp_emulator_warp.h
// is the same for the host.
#if !defined(FP_EMULATOR)

#define FP_HAS_ASYNC (__CUDA_ARCH__ >= 800)

FP_FN unsigned fp_shared_at(const void* pointer) {
  return (unsigned)__cvta_generic_to_shared(pointer);
}

FP_FN void fp_st16(unsigned to, const fp_vec& words) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words.w[0]),
               "r"(words.w[1]), "r"(words.w[2]), "r"(words.w[3])
               : "memory");
}

// 16 bytes from global memory, or 16 zeros where they are not `there`. They have landed when the
// thread has waited for the group it committed them to; other threads see them after a barrier.
FP_FN void fp_cp16(unsigned to, const void* from, bool there) {
#if FP_HAS_ASYNC
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
#else
  fp_vec words = {};
  if (there) words = *static_cast<const fp_vec*>(from);
  fp_st16(to, words);
#endif
}
FP_FN void fp_cp_commit() {
#if FP_HAS_ASYNC
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All of the thread's groups have landed but the last few.
template <int groups>
FP_FN void fp_cp_wait() {
#if FP_HAS_ASYNC
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}
FP_FN void fp_warp_barrier() { __syncwarp(); }

// Four matrices of 8 rows of 16 bytes; lanes 8i to 8i + 7 give the addresses of matrix i's rows. A
// lane gets 4 bytes of each: those at 4 * (lane % 4) of row lane / 4, or, transposed, as values of
// 16 bits, rows 2 * (lane % 4) and the next of column lane / 4.
FP_FN void fp_ldsm4(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
FP_FN void fp_ldsm4_trans(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// f32 bits rounded to what the tensor cores read of them, halves away from zero.
FP_FN unsigned fp_to_tf32(unsigned bits) {
#if FP_HAS_ASYNC
  asm("cvt.rna.tf32.f32 %0, %0;" : "+r"(bits));
#endif
  return bits;
}

#define FP_MMA(shape, types)                                                 \
  asm("mma.sync.aligned." shape ".row.col.f32." types                        \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])           \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

// sums (16 x 8) += a (16 x depth) * b (depth x 8), depth being 32 bytes of the type: f16, bf16, or
// f32 as tf32. A lane holds, g being lane / 4 and t lane % 4, sums at rows g, g, g + 8, g + 8 and
// columns 2t, 2t + 1, 2t, 2t + 1; of each row of a and column of b bytes 4t and 16 + 4t.
template <int type>
FP_FN void fp_mma(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if FP_HAS_ASYNC
  if constexpr (type == FP_F16) FP_MMA("m16n8k16", "f16.f16");
  if constexpr (type == FP_BF16) FP_MMA("m16n8k16", "bf16.bf16");
  if constexpr (type == FP_F32) FP_MMA("m16n8k8", "tf32.tf32");
#else
  static_assert(type == FP_F16, "sm_75 multiplies f16 only");
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%7, %8}, {%9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(b0), "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

#endif

// Where value `i` of a lane's sums lies in their 16 x 8.
FP_FN unsigned fp_sum_row(unsigned lane, int i) { return lane / 4 + i / 2 * 8; }
FP_FN unsigned fp_sum_column(unsigned lane, int i) { return lane % 4 * 2 + i % 2; }
