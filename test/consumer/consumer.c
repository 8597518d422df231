/* SPDX-License-Identifier: MIT */
/* A user's program: sees the installed header and library and nothing else of fuseplan. Runs one
 * fused plan, so that every library behind fuseplan's own has to be there too. */
#include <fuseplan/fuseplan.h>
#include <stdio.h>
#include <string.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, fuseplanGetLastErrorMessage());
  return 1;
}

int main(int argc, char** argv) {
  static const float x[8] = {-4, -3, -2, -1, 1, 2, 3, 4}, bias[2] = {1, -1};
  static const float expected[8] = {0, 0, 0, 0, 0, 1, 2, 3};
  float y[8];
  char version[64];
  size_t major, minor, patch;
  fuseplanHandle_t handle;
  fuseplanTensorDescriptor_t x_desc, bias_desc;
  fuseplanPlan_t plan;
  fuseplanOp_t bias_op, relu_op;
  fuseplanOperatorArgs_t args;

  if (fuseplanGetVersion(&major, &minor, &patch)) return failed("version");
  sprintf(version, "%u.%u.%u", (unsigned)major, (unsigned)minor, (unsigned)patch);
  if (argc != 2 || strcmp(version, argv[1]) != 0) {
    fprintf(stderr, "library %s, expected %s\n", version, argc == 2 ? argv[1] : "an argument");
    return 1;
  }

  if (fuseplanCreate(&handle) || fuseplanCreateTensorDescriptor(&x_desc) ||
      fuseplanCreateTensorDescriptor(&bias_desc) ||
      fuseplanSet4dTensorDescriptor(x_desc, fuseplanFloat, 1, 2, 2, 2) ||
      fuseplanSet4dTensorDescriptor(bias_desc, fuseplanFloat, 1, 2, 1, 1))
    return failed("descriptors");
  if (fuseplanCreatePlan(&plan, fuseplanVerticalFusion, x_desc) ||
      fuseplanCreateOpBiasForward(plan, &bias_op, bias_desc) ||
      fuseplanCreateOpActivationForward(plan, &relu_op, fuseplanActivationRELU) ||
      fuseplanCompilePlan(handle, plan))
    return failed("plan");
  if (fuseplanCreateOperatorArgs(&args) ||
      fuseplanSetOpArgsBiasForward(args, bias_op, NULL, NULL, bias) ||
      fuseplanSetOpArgsActivForward(args, relu_op, NULL, NULL, 0, 0, 0) ||
      fuseplanExecutePlan(handle, plan, x_desc, x, x_desc, y, args))
    return failed("execute");
  if (memcmp(y, expected, sizeof y) != 0) {
    fprintf(stderr, "wrong result\n");
    return 1;
  }
  if (fuseplanDestroyOperatorArgs(args) || fuseplanDestroyPlan(plan) ||
      fuseplanDestroyTensorDescriptor(x_desc) || fuseplanDestroyTensorDescriptor(bias_desc) ||
      fuseplanDestroy(handle))
    return failed("destroy");
  printf("fuseplan %s works\n", version);
  return 0;
}
