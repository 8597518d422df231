/* SPDX-License-Identifier: MIT */
/* Compile the plans of a program ahead of time, so that its next start finds them in the cache. */
#include "example.h"

static const char* const kPlans[] = {
    "f32:1x64x56x56:nhwc;conv(f32:64x64x3x3,pad=1x1);norm(spatial,f32:1x64x1x1);activation(relu)",
    "f32:1x64x56x56:nhwc;conv(f32:256x64x1x1);norm(spatial,f32:1x256x1x1);activation(relu)",
    "f32:1x256x56x56:nhwc;norm(spatial,f32:1x256x1x1);activation(silu)",
};

int main(int argc, char** argv) {
  fuseplanHandle_t handle;
  char location[4096] = "";
  size_t size = sizeof location;
  CHECK(fuseplanCreateForDevice(&handle, device_of(argc, argv)));
  CHECK(fuseplanCacheGetLocation(handle, location, &size));
  printf("kernel database: %s\n", location[0] ? location : "none; kernels stay in memory");

  for (size_t i = 0; i < sizeof kPlans / sizeof kPlans[0]; ++i) {
    fuseplanPlan_t plan;
    fuseplanPlanInfo_t info = {0};
    info.structSize = sizeof info;
    CHECK(fuseplanCreatePlanFromString(&plan, kPlans[i]));
    CHECK(fuseplanCompilePlan(handle, plan));
    CHECK(fuseplanPlanGetInfo(handle, plan, &info));
    printf("%-13s %6.0f us, %s\n", info.solver, info.compileMicroseconds,
           info.cacheHit ? "from the cache" : "generated");
    CHECK(fuseplanDestroyPlan(plan));
  }

  fuseplanCacheStatistics_t statistics = {0};
  statistics.structSize = sizeof statistics;
  CHECK(fuseplanCacheGetStatistics(handle, &statistics));
  printf("hits %llu, misses %llu, kernels kept %llu (%llu bytes)\n",
         (unsigned long long)statistics.hits, (unsigned long long)statistics.misses,
         (unsigned long long)statistics.rows, (unsigned long long)statistics.bytes);
  CHECK(fuseplanDestroy(handle));
  /* Every plan was answered, one way or the other. */
  return statistics.hits + statistics.misses < 3;
}
