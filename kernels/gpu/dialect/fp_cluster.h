// SPDX-License-Identifier: MIT
// Blocks of a cluster: they run at once and read each other's shared memory. CUDA from sm_90 on; a
// launch without clusters has one of a single block around each. The emulator's twin is
// test/emulator/fp_emulator_cluster.h.
#if !defined(FP_EMULATOR)

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "clusters of blocks need sm_90, which NVRTC knows from version 11.8 on"
#endif

// The cluster's number in the grid, the block's in the cluster, and how many blocks it has.
FP_FN unsigned fp_cluster() {
  unsigned number;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
  return number;
}
FP_FN unsigned fp_cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
FP_FN unsigned fp_cluster_blocks() {
  unsigned blocks;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}

// All threads of all blocks meet. What one wrote before it arrived, the others see after their
// wait. A block must not end while others may read its memory: it waits once more for them.
FP_FN void fp_cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
FP_FN void fp_cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
FP_FN void fp_cluster_barrier() {
  fp_cluster_arrive();
  fp_cluster_wait();
}

// What block `rank` has at the place where this one has `at`, in shared memory.
FP_FN float fp_cluster_load(const float* at, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"((unsigned)__cvta_generic_to_shared(at)), "r"(rank));
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
  return value;
}

#endif
