/* SPDX-License-Identifier: MIT */
/* say_device [<options> [<plan>...]]: makes a handle on cuda:0, compiles plans and says how that
 * went: "built" or "cached" for each. */
#include <fuseplan/fuseplan.h>
#include <stdio.h>

static int say(fuseplanStatus_t status) {
  printf("%s: %s\n", fuseplanGetErrorString(status), fuseplanGetLastErrorMessage());
  return 0;
}

static fuseplanStatus_t compile(fuseplanHandle_t handle, const char* text) {
  fuseplanPlan_t plan;
  fuseplanPlanInfo_t info = {sizeof info};
  fuseplanStatus_t status = fuseplanCreatePlanFromString(&plan, text);
  if (status != fuseplanStatusSuccess) return status;
  status = fuseplanCompilePlan(handle, plan);
  if (status == fuseplanStatusSuccess) status = fuseplanPlanGetInfo(handle, plan, &info);
  if (status != fuseplanStatusSuccess) return status;
  printf("%s ", info.cacheHit ? "cached" : "built");
  return fuseplanDestroyPlan(plan);
}

int main(int count, char** arguments) {
  fuseplanHandle_t handle;
  fuseplanStatus_t status = fuseplanCreateForDevice(&handle, "cuda:0");
  if (status == fuseplanStatusSuccess && count > 1)
    status = fuseplanSetOptions(handle, arguments[1]);
  if (status != fuseplanStatusSuccess) return say(status);
  if (count <= 2) status = compile(handle, "f32:1x8x6x6:nchw;activation(relu)");
  for (int i = 2; i < count && status == fuseplanStatusSuccess; ++i)
    status = compile(handle, arguments[i]);
  if (status != fuseplanStatusSuccess) return say(status);
  puts("and that is all");
  fuseplanDestroy(handle);
  return 0;
}
