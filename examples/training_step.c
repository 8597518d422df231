/* SPDX-License-Identifier: MIT */
/* One training step of y = relu(batchnorm(conv(x))) with three plans: the convolution, which takes
 * the statistics of its output as it writes it; the normalisation and RELU over that output; and
 * back through both. */
#include "example.h"

enum { N = 4, C = 8, SIDE = 10, PIXELS = SIDE * SIDE, COUNT = N * C * PIXELS };
#define EPSILON 1e-5

/* Per channel: what the layer learns, keeps, and is told by the step. */
static float scale[C], bias[C], mean[C], variance[C], inverse[C];
static float running_mean[C], running_variance[C], dscale[C], dbias[C];

static fuseplanPlan_t compiled(fuseplanHandle_t handle, const char* text) {
  fuseplanPlan_t plan;
  CHECK(fuseplanCreatePlanFromString(&plan, text));
  CHECK(fuseplanCompilePlan(handle, plan));
  return plan;
}

static fuseplanOp_t op_of(fuseplanPlan_t plan, int index) {
  fuseplanOp_t op;
  CHECK(fuseplanPlanGetOp(plan, index, &op));
  return op;
}

static void forward(fuseplanHandle_t handle, fuseplanTensorDescriptor_t desc, const float* x,
                    const float* w, float* z, float* y) {
  fuseplanPlan_t conv =
      compiled(handle, "f32:4x8x10x10;conv(f32:8x8x3x3,pad=1x1);statistics(f32:1x8x1x1)");
  fuseplanPlan_t norm =
      compiled(handle, "f32:4x8x10x10;norm(spatial,f32:1x8x1x1);activation(relu)");
  fuseplanOperatorArgs_t args;
  CHECK(fuseplanCreateOperatorArgs(&args));
  CHECK(fuseplanSetOpArgsConvForward(args, op_of(conv, 0), NULL, NULL, w));
  CHECK(fuseplanSetOpArgsStatistics(args, op_of(conv, 1), NULL, NULL, mean, variance, inverse,
                                    running_mean, running_variance, 0.1, EPSILON));
  CHECK(fuseplanExecutePlan(handle, conv, desc, x, desc, z, args));

  CHECK(fuseplanSetOpArgsBatchNormInference(args, op_of(norm, 0), NULL, NULL, scale, bias, mean,
                                            variance, EPSILON));
  CHECK(fuseplanSetOpArgsActivForward(args, op_of(norm, 1), NULL, NULL, 0, 0, 0));
  CHECK(fuseplanExecutePlan(handle, norm, desc, z, desc, y, args));
  CHECK(fuseplanDestroyOperatorArgs(args));
  CHECK(fuseplanDestroyPlan(norm));
  CHECK(fuseplanDestroyPlan(conv));
}

static void backward(fuseplanHandle_t handle, fuseplanTensorDescriptor_t desc, const float* dy,
                     const float* z, float* dz) {
  fuseplanPlan_t plan;
  fuseplanOp_t relu, norm;
  fuseplanOperatorArgs_t args;
  CHECK(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, desc));
  CHECK(fuseplanCreateOpActivationBackward(plan, &relu, fuseplanActivationRELU, NULL));
  CHECK(fuseplanCreateOpBatchNormBackward(plan, &norm, fuseplanBNSpatial, desc, NULL));
  CHECK(fuseplanCompilePlan(handle, plan));
  CHECK(fuseplanCreateOperatorArgs(&args));
  CHECK(fuseplanSetOpArgsActivBackward(args, relu, NULL, NULL, NULL, NULL, 0, 0, 0));
  CHECK(fuseplanSetOpArgsBatchNormBackward(args, norm, NULL, NULL, z, scale, bias, dscale, dbias,
                                           mean, inverse));
  CHECK(fuseplanExecutePlan(handle, plan, desc, dy, desc, dz, args));
  CHECK(fuseplanDestroyOperatorArgs(args));
  CHECK(fuseplanDestroyPlan(plan));
}

/* Sum over the channel's values of f, by hand. */
#define FOR_CHANNEL(c, i)        \
  for (int n_ = 0; n_ < N; ++n_) \
    for (int i = (n_ * C + c) * PIXELS, end_ = i + PIXELS; i < end_; ++i)

static void check_channel(int c, const float* z, const float* y, const float* dy, const float* dz) {
  const double m = N * PIXELS;
  double sum = 0, squares = 0, d_sum = 0, d_xhat_sum = 0;
  FOR_CHANNEL(c, i) sum += z[i];
  FOR_CHANNEL(c, i) squares += (z[i] - sum / m) * (z[i] - sum / m);
  const double inv = 1 / sqrt(squares / m + EPSILON);
  expect_near(mean[c], sum / m, "mean");
  expect_near(variance[c], squares / m, "variance");
  expect_near(running_variance[c], 0.9 + 0.1 * squares / (m - 1), "running variance");
  FOR_CHANNEL(c, i) {
    const double xhat = (z[i] - sum / m) * inv;
    d_sum += y[i] > 0 ? dy[i] : 0;
    d_xhat_sum += y[i] > 0 ? dy[i] * xhat : 0;
  }
  expect_near(dbias[c], d_sum, "dbias");
  expect_near(dscale[c], d_xhat_sum, "dscale");
  FOR_CHANNEL(c, i) {
    const double xhat = (z[i] - sum / m) * inv, pre = scale[c] * xhat + bias[c];
    const double d = y[i] > 0 ? dy[i] : 0;
    expect_near(y[i], pre > 0 ? pre : 0, "y");
    expect_near(dz[i], scale[c] * inv * (d - d_sum / m - xhat * d_xhat_sum / m), "dz");
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    fprintf(stderr, "usage: %s (on the CPU)\n", argv[0]);
    return EXIT_FAILURE;
  }
  fuseplanHandle_t handle;
  fuseplanTensorDescriptor_t desc;
  CHECK(fuseplanCreate(&handle));
  CHECK(fuseplanCreateTensorDescriptor(&desc));
  CHECK(fuseplanSet4dTensorDescriptor(desc, fuseplanFloat, N, C, SIDE, SIDE));
  float *x = floats(COUNT), *z = floats(COUNT), *y = floats(COUNT), *dy = floats(COUNT);
  float *dz = floats(COUNT), *w = floats(C * C * 9);
  fill(x, COUNT, 1);
  fill(w, C * C * 9, 2);
  fill(dy, COUNT, 3);
  fill(bias, C, 4);
  for (int c = 0; c < C; ++c) scale[c] = running_variance[c] = 1;

  forward(handle, desc, x, w, z, y);
  backward(handle, desc, dy, z, dz);
  for (int c = 0; c < C; ++c) check_channel(c, z, y, dy, dz);
  puts(
      "convolution, batch normalisation and RELU went forward and back, and the gradients are "
      "right");

  free(w);
  free(dz);
  free(dy);
  free(y);
  free(z);
  free(x);
  CHECK(fuseplanDestroyTensorDescriptor(desc));
  CHECK(fuseplanDestroy(handle));
  return 0;
}
