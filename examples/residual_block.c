/* SPDX-License-Identifier: MIT */
/* The second half of a residual block, relu(batchnorm(conv(x)) + shortcut), as one kernel over
 * channels-last tensors. */
#include "example.h"

enum { C = 32, SIDE = 14, PIXELS = SIDE * SIDE, COUNT = C * PIXELS };

static double by_hand(const float* x, const float* w, const float* p, const float* shortcut, int k,
                      int pixel) {
  double sum = 0; /* a 1x1 convolution is a product of a matrix with each pixel */
  for (int c = 0; c < C; ++c) sum += (double)x[pixel * C + c] * w[k * C + c];
  sum = p[k] * (sum - p[2 * C + k]) / sqrt(p[3 * C + k] + 1e-5) + p[C + k];
  sum += shortcut[pixel * C + k];
  return sum > 0 ? sum : 0;
}

int main(int argc, char** argv) {
  fuseplanHandle_t handle;
  fuseplanPlan_t plan;
  fuseplanTensorDescriptor_t desc;
  fuseplanOp_t conv, norm, add, relu;
  fuseplanOperatorArgs_t args;
  CHECK(fuseplanCreateForDevice(&handle, device_of(argc, argv)));
  CHECK(fuseplanCreatePlanFromString(
      &plan,
      "f32:1x32x14x14:nhwc;conv(f32:32x32x1x1);norm(spatial,f32:1x32x1x1);"
      "add(f32:1x32x14x14:nhwc);activation(relu)"));
  CHECK(fuseplanPlanGetOp(plan, 0, &conv));
  CHECK(fuseplanPlanGetOp(plan, 1, &norm));
  CHECK(fuseplanPlanGetOp(plan, 2, &add));
  CHECK(fuseplanPlanGetOp(plan, 3, &relu));
  CHECK(fuseplanCreateTensorDescriptor(&desc));
  CHECK(fuseplanPlanGetOutputDescriptor(plan, desc));
  CHECK(fuseplanCompilePlan(handle, plan));

  float *x = floats(COUNT), *y = floats(COUNT), *w = floats(C * C), *p = floats(4 * C);
  fill(x, COUNT, 1);
  fill(w, C * C, 2);
  fill(p, 4 * C, 3);
  for (int c = 0; c < C; ++c) p[3 * C + c] = p[3 * C + c] * p[3 * C + c] + 0.1f;
  fill(y, COUNT, 0);
  float *dx = to_device(handle, x, COUNT), *dy = to_device(handle, y, COUNT);
  float *dw = to_device(handle, w, C * C), *dp = to_device(handle, p, 4 * C);
  CHECK(fuseplanCreateOperatorArgs(&args));
  CHECK(fuseplanSetOpArgsConvForward(args, conv, NULL, NULL, dw));
  CHECK(fuseplanSetOpArgsBatchNormInference(args, norm, NULL, NULL, dp, dp + C, dp + 2 * C,
                                            dp + 3 * C, 1e-5));
  CHECK(fuseplanSetOpArgsTensorAdd(args, add, NULL, NULL, dx, 1.0)); /* the block's own input */
  CHECK(fuseplanSetOpArgsActivForward(args, relu, NULL, NULL, 0, 0, 0));
  /* The weights stay as they are from here on, so Execute need not look at them again. */
  CHECK(fuseplanSetArgsFlags(args, fuseplanArgsConstantWeights));
  CHECK(fuseplanExecutePlan(handle, plan, desc, dx, desc, dy, args));
  to_host(handle, y, dy, COUNT);

  for (int pixel = 0; pixel < PIXELS; pixel += 5)
    for (int k = 0; k < C; ++k)
      expect_near(y[pixel * C + k], by_hand(x, w, p, x, k, pixel), "output");
  puts("1x1 convolution + batchnorm + shortcut + RELU ran as one kernel, and its output is right");

  float* memory[] = {dx, dy, dw, dp};
  for (int i = 0; i < 4; ++i) CHECK(fuseplanFree(handle, memory[i]));
  free(p);
  free(w);
  free(y);
  free(x);
  CHECK(fuseplanDestroyOperatorArgs(args));
  CHECK(fuseplanDestroyTensorDescriptor(desc));
  CHECK(fuseplanDestroyPlan(plan));
  CHECK(fuseplanDestroy(handle));
  return 0;
}
