/* SPDX-License-Identifier: MIT */
/* What every example shares: leave with the library's own sentence when a call fails. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <fuseplan/fuseplan.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const fuseplanStatus_t check_status = (call);                                                  \
    if (check_status != fuseplanStatusSuccess) {                                                   \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, fuseplanGetErrorString(check_status), \
              fuseplanGetLastErrorMessage());                                                      \
      exit(EXIT_FAILURE);                                                                          \
    }                                                                                              \
  } while (0)

/* Signed values in [-1, 1) that are the same on every machine. */
static inline void fill(float* values, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u; /* Numerical Recipes' generator */
    values[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
}

static inline float* floats(size_t count) {
  float* memory = malloc(count * sizeof(float));
  if (memory == NULL) exit(EXIT_FAILURE);
  return memory;
}

/* What stands behind --device, such as "cuda:0"; without it the CPU. */
static inline const char* device_of(int count, char** arguments) {
  if (count == 1) return "cpu";
  if (count == 3 && strcmp(arguments[1], "--device") == 0) return arguments[2];
  fprintf(stderr, "usage: %s [--device cpu|cuda:0]\n", arguments[0]);
  exit(EXIT_FAILURE);
}

/* Values copied to where the handle's kernels read and write, and back. On the CPU that is ordinary
 * memory, and a program for the CPU alone needs none of this. */
static inline float* to_device(fuseplanHandle_t handle, const float* values, size_t count) {
  void* memory;
  CHECK(fuseplanMalloc(handle, count * sizeof(float), &memory));
  CHECK(fuseplanCopy(handle, memory, values, count * sizeof(float), fuseplanCopyToDevice));
  return memory;
}
static inline void to_host(fuseplanHandle_t handle, float* values, const float* memory,
                           size_t count) {
  CHECK(fuseplanCopy(handle, values, memory, count * sizeof(float), fuseplanCopyToHost));
}

static inline void expect_near(double actual, double expected, const char* what) {
  if (fabs(actual - expected) <= 1e-4 * (1.0 + fabs(expected))) return;
  fprintf(stderr, "%s: got %.7g, expected %.7g\n", what, actual, expected);
  exit(EXIT_FAILURE);
}

#endif /* EXAMPLE_H */
