/* SPDX-License-Identifier: MIT */
/* What every example shares: leave with the library's own sentence when a call fails. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <fuseplan/fuseplan.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

static inline void expect_near(double actual, double expected, const char* what) {
  if (fabs(actual - expected) <= 1e-4 * (1.0 + fabs(expected))) return;
  fprintf(stderr, "%s: got %.7g, expected %.7g\n", what, actual, expected);
  exit(EXIT_FAILURE);
}

#endif /* EXAMPLE_H */
