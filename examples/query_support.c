/* SPDX-License-Identifier: MIT */
/* Does a plan fuse, by which solver, and if not, why: asked without compiling anything. */
#include "example.h"

static void ask(fuseplanHandle_t handle, const char* text, int expected) {
  fuseplanPlan_t plan;
  CHECK(fuseplanCreatePlanFromString(&plan, text));
  fuseplanFusionSupport_t support = {0};
  support.structSize = sizeof support;
  CHECK(fuseplanQueryFusionSupport(handle, plan, &support));
  printf("\n%s\n  fused: %s", text, support.fused ? "yes" : "no");
  if (support.fused) printf(", by %s as %d kernel", support.solver, support.kernelCount);
  puts("");

  /* Why the others declined, as data... */
  fuseplanRejection_t why[32] = {{0}};
  why[0].structSize = sizeof why[0];
  int count = 0;
  CHECK(fuseplanPlanGetRejections(handle, plan, 32, &count, why));
  for (int i = 0; i < count && i < 32; ++i)
    printf("  %s: %s is %s, needs %s\n", why[i].solver, why[i].field, why[i].got, why[i].need);

  /* ... and as text. */
  size_t size = 0;
  CHECK(fuseplanPlanExplain(handle, plan, NULL, &size));
  char* explanation = malloc(size);
  if (explanation == NULL) exit(EXIT_FAILURE);
  CHECK(fuseplanPlanExplain(handle, plan, explanation, &size));
  printf("%s\n", explanation);
  free(explanation);
  CHECK(fuseplanDestroyPlan(plan));
  if (support.fused != expected) exit(EXIT_FAILURE);
}

int main(int argc, char** argv) {
  fuseplanHandle_t handle;
  CHECK(fuseplanCreateForDevice(&handle, device_of(argc, argv)));
  ask(handle,
      "f32:1x64x56x56:nhwc;conv(f32:64x64x3x3,pad=1x1);bias(f32:1x64x1x1);activation(gelu_erf)", 1);
  ask(handle, "f16:8x256x7x7:nchw;norm(spatial,f32:1x256x1x1);activation(relu)", 1);

  /* With every solver but one switched off, a plan that the one cannot run is refused. */
  CHECK(fuseplanSetOptions(handle, "--only_solver=cpu_depthwise"));
  ask(handle, "f32:1x64x56x56:nhwc;conv(f32:64x64x3x3,pad=1x1);activation(relu)", 0);
  CHECK(fuseplanDestroy(handle));
  return 0;
}
