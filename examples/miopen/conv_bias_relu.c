/* SPDX-License-Identifier: MIT */
/* A program written for MIOpen, as it would be for an AMD GPU: allocate, copy, plan, execute, copy
 * back. Nothing in it knows fuseplan. */
#include <hip/hip_runtime.h>
#include <math.h>
#include <miopen/miopen.h>
#include <stdio.h>

#define CHECK_HIP(call)                                                \
  do {                                                                 \
    if ((call) != hipSuccess) {                                        \
      fprintf(stderr, "%s:%d: HIP call failed\n", __FILE__, __LINE__); \
      exit(EXIT_FAILURE);                                              \
    }                                                                  \
  } while (0)

#define CHECK_MIOPEN(call)                                                              \
  do {                                                                                  \
    const miopenStatus_t status = (call);                                               \
    if (status != miopenStatusSuccess) {                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, miopenGetErrorString(status)); \
      exit(EXIT_FAILURE);                                                               \
    }                                                                                   \
  } while (0)

enum { N = 1, C = 8, H = 16, W = 16, K = 12, R = 3 };

static float* to_device(const float* values, size_t count) {
  void* memory;
  CHECK_HIP(hipMalloc(&memory, count * sizeof(float)));
  CHECK_HIP(hipMemcpy(memory, values, count * sizeof(float), hipMemcpyHostToDevice));
  return memory;
}

static miopenTensorDescriptor_t tensor(int n, int c, int h, int w) {
  miopenTensorDescriptor_t desc;
  CHECK_MIOPEN(miopenCreateTensorDescriptor(&desc));
  CHECK_MIOPEN(miopenSet4dTensorDescriptor(desc, miopenFloat, n, c, h, w));
  return desc;
}

/* Small whole numbers, so that the sums to compare with are exact. */
static void fill(float* values, size_t count, unsigned seed) {
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)((int)(seed >> 28) - 8);
  }
}

static float by_hand(const float* x, const float* w, const float* b, int k, int row, int column) {
  float sum = b[k];
  int c, r, s;
  for (c = 0; c < C; ++c)
    for (r = 0; r < R; ++r)
      for (s = 0; s < R; ++s) {
        const int i = row + r - 1, j = column + s - 1;
        if (i >= 0 && i < H && j >= 0 && j < W)
          sum += x[(c * H + i) * W + j] * w[((k * C + c) * R + r) * R + s];
      }
  return sum > 0 ? sum : 0;
}

int main(int argc, char** argv) {
  static float x[N * C * H * W], w[K * C * R * R], b[K], y[N * K * H * W];
  const float one = 1, zero = 0;
  int k, row, column;
  if (argc > 1) {
    fprintf(stderr, "usage: %s\n", argv[0]);
    return EXIT_FAILURE;
  }
  fill(x, sizeof x / sizeof *x, 1);
  fill(w, sizeof w / sizeof *w, 2);
  fill(b, sizeof b / sizeof *b, 3);

  miopenHandle_t handle;
  CHECK_MIOPEN(miopenCreate(&handle));
  const miopenTensorDescriptor_t x_desc = tensor(N, C, H, W), w_desc = tensor(K, C, R, R),
                                 b_desc = tensor(1, K, 1, 1), y_desc = tensor(N, K, H, W);
  miopenConvolutionDescriptor_t conv_desc;
  CHECK_MIOPEN(miopenCreateConvolutionDescriptor(&conv_desc));
  CHECK_MIOPEN(miopenInitConvolutionDescriptor(conv_desc, miopenConvolution, 1, 1, 1, 1, 1, 1));

  miopenFusionPlanDescriptor_t plan;
  miopenFusionOpDescriptor_t conv, bias, relu;
  CHECK_MIOPEN(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x_desc));
  CHECK_MIOPEN(miopenCreateOpConvForward(plan, &conv, conv_desc, w_desc));
  CHECK_MIOPEN(miopenCreateOpBiasForward(plan, &bias, b_desc));
  CHECK_MIOPEN(miopenCreateOpActivationForward(plan, &relu, miopenActivationRELU));
  CHECK_MIOPEN(miopenCompileFusionPlan(handle, plan));

  float *x_dev = to_device(x, sizeof x / sizeof *x), *w_dev = to_device(w, sizeof w / sizeof *w),
        *b_dev = to_device(b, sizeof b / sizeof *b), *y_dev = to_device(y, sizeof y / sizeof *y);
  miopenOperatorArgs_t args;
  CHECK_MIOPEN(miopenCreateOperatorArgs(&args));
  CHECK_MIOPEN(miopenSetOpArgsConvForward(args, conv, &one, &zero, w_dev));
  CHECK_MIOPEN(miopenSetOpArgsBiasForward(args, bias, &one, &zero, b_dev));
  CHECK_MIOPEN(miopenSetOpArgsActivForward(args, relu, &one, &zero, 0, 0, 0));
  CHECK_MIOPEN(miopenExecuteFusionPlan(handle, plan, x_desc, x_dev, y_desc, y_dev, args));

  hipStream_t stream;
  CHECK_MIOPEN(miopenGetStream(handle, &stream));
  CHECK_HIP(hipStreamSynchronize(stream));
  CHECK_HIP(hipMemcpy(y, y_dev, sizeof y, hipMemcpyDeviceToHost));
  for (k = 0; k < K; ++k)
    for (row = 0; row < H; ++row)
      for (column = 0; column < W; ++column)
        if (fabsf(y[(k * H + row) * W + column] - by_hand(x, w, b, k, row, column)) > 0.01f) {
          fprintf(stderr, "wrong at %d %d %d\n", k, row, column);
          return EXIT_FAILURE;
        }
  puts("MIOpen's program ran: convolution, bias and RELU as one kernel");

  CHECK_MIOPEN(miopenDestroyOperatorArgs(args));
  CHECK_MIOPEN(miopenDestroyFusionPlan(plan));
  CHECK_MIOPEN(miopenDestroyConvolutionDescriptor(conv_desc));
  CHECK_MIOPEN(miopenDestroyTensorDescriptor(x_desc));
  CHECK_MIOPEN(miopenDestroyTensorDescriptor(w_desc));
  CHECK_MIOPEN(miopenDestroyTensorDescriptor(b_desc));
  CHECK_MIOPEN(miopenDestroyTensorDescriptor(y_desc));
  CHECK_MIOPEN(miopenDestroy(handle));
  CHECK_HIP(hipFree(x_dev));
  CHECK_HIP(hipFree(w_dev));
  CHECK_HIP(hipFree(b_dev));
  CHECK_HIP(hipFree(y_dev));
  return EXIT_SUCCESS;
}
