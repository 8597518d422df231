/* SPDX-License-Identifier: MIT */
/* A program written for MIOpen, which sees the installed header and library and nothing else. */
#include <miopen/miopen.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  static const float x[8] = {-4, -3, -2, -1, 1, 2, 3, 4}, bias[2] = {1, -1};
  static const float expected[8] = {0, 0, 0, 0, 0, 1, 2, 3};
  float y[8];
  miopenHandle_t handle;
  miopenTensorDescriptor_t x_desc, bias_desc;
  miopenFusionPlanDescriptor_t plan;
  miopenFusionOpDescriptor_t bias_op, relu_op;
  miopenOperatorArgs_t args;

  if (miopenCreate(&handle) || miopenCreateTensorDescriptor(&x_desc) ||
      miopenCreateTensorDescriptor(&bias_desc) ||
      miopenSet4dTensorDescriptor(x_desc, miopenFloat, 1, 2, 2, 2) ||
      miopenSet4dTensorDescriptor(bias_desc, miopenFloat, 1, 2, 1, 1) ||
      miopenCreateFusionPlan(&plan, miopenVerticalFusion, x_desc) ||
      miopenCreateOpBiasForward(plan, &bias_op, bias_desc) ||
      miopenCreateOpActivationForward(plan, &relu_op, miopenActivationRELU) ||
      miopenCompileFusionPlan(handle, plan) || miopenCreateOperatorArgs(&args) ||
      miopenSetOpArgsBiasForward(args, bias_op, NULL, NULL, bias) ||
      miopenSetOpArgsActivForward(args, relu_op, NULL, NULL, 0, 0, 0) ||
      miopenExecuteFusionPlan(handle, plan, x_desc, x, x_desc, y, args)) {
    fprintf(stderr, "%s\n", fuseplanMiopenGetLastErrorMessage());
    return 1;
  }
  if (memcmp(y, expected, sizeof y) != 0) {
    fprintf(stderr, "wrong result\n");
    return 1;
  }
  return miopenDestroyOperatorArgs(args) || miopenDestroyFusionPlan(plan) ||
         miopenDestroyTensorDescriptor(x_desc) || miopenDestroyTensorDescriptor(bias_desc) ||
         miopenDestroy(handle);
}
