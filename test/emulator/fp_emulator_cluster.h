// SPDX-License-Identifier: MIT
// What kernels/gpu/dialect/fp_cluster.h has, for the host.
#pragma once

FP_FN unsigned fp_cluster() { return fp_now->block / fp_now->cluster_blocks; }
FP_FN unsigned fp_cluster_rank() { return fp_now->cluster_rank; }
FP_FN unsigned fp_cluster_blocks() { return fp_now->cluster_blocks; }
FP_FN void fp_cluster_arrive(FP_HERE) { fp_now->cluster_arrive(fp_now, line); }
FP_FN void fp_cluster_wait() { fp_now->cluster_wait(fp_now); }
FP_FN void fp_cluster_barrier(FP_HERE) {
  fp_cluster_arrive(line);
  fp_cluster_wait();
}
FP_FN float fp_cluster_load(const float* at, unsigned rank) {
  float value;
  memcpy(&value, fp_now->cluster_memory(fp_now, rank, fp_shared_at(at), sizeof value),
         sizeof value);
  return value;
}
