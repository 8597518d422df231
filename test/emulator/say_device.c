/* SPDX-License-Identifier: MIT */
/* say_device [<options>]: makes a handle on cuda:0, compiles a plan and says how that went. */
#include <fuseplan/fuseplan.h>
#include <stdio.h>

static int say(fuseplanStatus_t status) {
  printf("%s: %s\n", fuseplanGetErrorString(status), fuseplanGetLastErrorMessage());
  return 0;
}

int main(int count, char** arguments) {
  fuseplanHandle_t handle;
  fuseplanPlan_t plan;
  fuseplanCacheStatistics_t statistics = {sizeof statistics};
  fuseplanStatus_t status = fuseplanCreateForDevice(&handle, "cuda:0");
  if (status == fuseplanStatusSuccess && count > 1)
    status = fuseplanSetOptions(handle, arguments[1]);
  if (status != fuseplanStatusSuccess) return say(status);
  status = fuseplanCreatePlanFromString(&plan, "f32:1x8x6x6:nchw;activation(relu)");
  if (status == fuseplanStatusSuccess) status = fuseplanCompilePlan(handle, plan);
  if (status == fuseplanStatusSuccess) status = fuseplanCacheGetStatistics(handle, &statistics);
  if (status != fuseplanStatusSuccess) return say(status);
  printf("compiled, %d hits\n", (int)statistics.hits);
  fuseplanDestroyPlan(plan);
  fuseplanDestroy(handle);
  return 0;
}
