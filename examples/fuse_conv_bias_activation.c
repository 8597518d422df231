/* SPDX-License-Identifier: MIT */
/* Convolution, bias and RELU as one kernel: the whole life of a plan. */
#include "example.h"

enum { C = 16, H = 28, W = 28, K = 32, R = 3 };

/* One output value from the definition, to show that the kernel computes just that. */
static double by_hand(const float* x, const float* w, const float* bias, int k, int row, int col) {
  double sum = bias[k];
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r)
      for (int s = 0; s < R; ++s) {
        const int y_in = row + r - 1, x_in = col + s - 1;
        if (y_in < 0 || y_in >= H || x_in < 0 || x_in >= W) continue;
        sum += (double)x[(c * H + y_in) * W + x_in] * w[((k * C + c) * R + r) * R + s];
      }
  return sum > 0 ? sum : 0;
}

int main(int argc, char** argv) {
  fuseplanHandle_t handle;
  fuseplanTensorDescriptor_t x_desc, w_desc, b_desc, y_desc;
  fuseplanConvolutionDescriptor_t conv_desc;
  CHECK(fuseplanCreateForDevice(&handle, device_of(argc, argv)));
  CHECK(fuseplanCreateTensorDescriptor(&x_desc));
  CHECK(fuseplanCreateTensorDescriptor(&w_desc));
  CHECK(fuseplanCreateTensorDescriptor(&b_desc));
  CHECK(fuseplanCreateTensorDescriptor(&y_desc));
  CHECK(fuseplanSet4dTensorDescriptor(x_desc, fuseplanFloat, 1, C, H, W));
  CHECK(fuseplanSet4dTensorDescriptor(w_desc, fuseplanFloat, K, C, R, R));
  CHECK(fuseplanSet4dTensorDescriptor(b_desc, fuseplanFloat, 1, K, 1, 1));
  CHECK(fuseplanCreateConvolutionDescriptor(&conv_desc));
  CHECK(fuseplanInitConvolutionDescriptor(conv_desc, fuseplanConvolution, 1, 1, 1, 1, 1, 1));

  /* The plan: what happens, in which order, to tensors of which shapes. */
  fuseplanPlan_t plan;
  fuseplanOp_t conv, bias, relu;
  CHECK(fuseplanCreatePlan(&plan, fuseplanVerticalFusion, x_desc));
  CHECK(fuseplanCreateOpConvForward(plan, &conv, conv_desc, w_desc));
  CHECK(fuseplanCreateOpBiasForward(plan, &bias, b_desc));
  CHECK(fuseplanCreateOpActivationForward(plan, &relu, fuseplanActivationRELU));
  CHECK(fuseplanPlanGetOutputDescriptor(plan, y_desc));
  CHECK(fuseplanCompilePlan(handle, plan));

  /* The arguments: pointers and scalars of one execution. */
  float *x = floats(C * H * W), *w = floats(K * C * R * R), *b = floats(K), *y = floats(K * H * W);
  fill(y, K * H * W, 0);
  fill(x, C * H * W, 1);
  fill(w, K * C * R * R, 2);
  fill(b, K, 3);
  float *dx = to_device(handle, x, C * H * W), *dw = to_device(handle, w, K * C * R * R);
  float *db = to_device(handle, b, K), *dy = to_device(handle, y, K * H * W);
  fuseplanOperatorArgs_t args;
  CHECK(fuseplanCreateOperatorArgs(&args));
  CHECK(fuseplanSetOpArgsConvForward(args, conv, NULL, NULL, dw));
  CHECK(fuseplanSetOpArgsBiasForward(args, bias, NULL, NULL, db));
  CHECK(fuseplanSetOpArgsActivForward(args, relu, NULL, NULL, 0, 0, 0));
  CHECK(fuseplanExecutePlan(handle, plan, x_desc, dx, y_desc, dy, args));
  to_host(handle, y, dy, K * H * W);

  for (int k = 0; k < K; k += 5)
    for (int row = 0; row < H; row += 9)
      for (int col = 0; col < W; col += 3)
        expect_near(y[(k * H + row) * W + col], by_hand(x, w, b, k, row, col), "output");
  puts("convolution + bias + RELU ran as one kernel, and its output is right");

  float* memory[] = {dx, dw, db, dy};
  for (int i = 0; i < 4; ++i) CHECK(fuseplanFree(handle, memory[i]));
  CHECK(fuseplanDestroyOperatorArgs(args));
  CHECK(fuseplanDestroyPlan(plan));
  CHECK(fuseplanDestroyConvolutionDescriptor(conv_desc));
  CHECK(fuseplanDestroyTensorDescriptor(y_desc));
  CHECK(fuseplanDestroyTensorDescriptor(b_desc));
  CHECK(fuseplanDestroyTensorDescriptor(w_desc));
  CHECK(fuseplanDestroyTensorDescriptor(x_desc));
  CHECK(fuseplanDestroy(handle));
  free(y);
  free(b);
  free(w);
  free(x);
  return 0;
}
