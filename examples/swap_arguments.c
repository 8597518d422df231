/* SPDX-License-Identifier: MIT */
/* One compiled plan, executed again and again with other tensors, parameters and scalars. */
#include "example.h"

enum { N = 2, C = 24, HW = 14 * 14, COUNT = N * C * HW };

int main(int argc, char** argv) {
  fuseplanHandle_t handle;
  fuseplanPlan_t plan;
  fuseplanTensorDescriptor_t desc;
  fuseplanOp_t norm, leaky;
  fuseplanOperatorArgs_t args;
  CHECK(fuseplanCreateForDevice(&handle, device_of(argc, argv)));
  CHECK(fuseplanCreatePlanFromString(
      &plan, "f32:2x24x14x14:nchw;norm(spatial,f32:1x24x1x1);activation(leakyrelu)"));
  CHECK(fuseplanPlanGetOp(plan, 0, &norm));
  CHECK(fuseplanPlanGetOp(plan, 1, &leaky));
  CHECK(fuseplanCreateTensorDescriptor(&desc));
  CHECK(fuseplanPlanGetOutputDescriptor(plan, desc));
  CHECK(fuseplanCompilePlan(handle, plan));
  CHECK(fuseplanCreateOperatorArgs(&args));

  float* parameters = floats(4 * C);
  for (int round = 0; round < 5; ++round) {
    /* New memory and new contents each round; the compiled kernel stays. */
    float *x = floats(COUNT), *y = floats(COUNT);
    const float *scale = parameters, *bias = scale + C, *mean = bias + C;
    float* variance = parameters + 3 * C;
    const double slope = 0.1 * round, epsilon = 1e-5 * (round + 1);
    fill(x, COUNT, 10u + (unsigned)round);
    fill(parameters, 4 * C, 20u + (unsigned)round);
    for (int c = 0; c < C; ++c) variance[c] = variance[c] * variance[c] + 0.1f;
    float *dx = to_device(handle, x, COUNT), *dp = to_device(handle, parameters, 4 * C);
    CHECK(fuseplanSetOpArgsBatchNormInference(args, norm, NULL, NULL, dp, dp + C, dp + 2 * C,
                                              dp + 3 * C, epsilon));
    CHECK(fuseplanSetOpArgsActivForward(args, leaky, NULL, NULL, slope, 0, 0));
    CHECK(fuseplanExecutePlan(handle, plan, desc, dx, desc, dx, args)); /* in place */
    to_host(handle, y, dx, COUNT);
    for (int i = 0; i < COUNT; i += 7) {
      const int c = i / HW % C;
      const double v = scale[c] * (x[i] - mean[c]) / sqrt(variance[c] + epsilon) + bias[c];
      expect_near(y[i], v > 0 ? v : slope * v, "output");
    }
    CHECK(fuseplanFree(handle, dx));
    CHECK(fuseplanFree(handle, dp));
    free(y);
    free(x);
  }
  puts("five rounds of other arguments through one compiled plan");

  free(parameters);
  CHECK(fuseplanDestroyOperatorArgs(args));
  CHECK(fuseplanDestroyTensorDescriptor(desc));
  CHECK(fuseplanDestroyPlan(plan));
  CHECK(fuseplanDestroy(handle));
  return 0;
}
