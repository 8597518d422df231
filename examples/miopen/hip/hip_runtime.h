/* SPDX-License-Identifier: MIT */
/* HIP's memory functions for a machine without a GPU: device memory is host memory. This belongs to
 * the example; a program that already has HIP, or memory of its own, needs nothing like it. */
#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_API_H

#include <stdlib.h>
#include <string.h>

typedef enum { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2 } hipError_t;
typedef enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 } hipMemcpyKind;
typedef struct ihipStream_t* hipStream_t;

static inline hipError_t hipMalloc(void** memory, size_t bytes) {
  *memory = malloc(bytes);
  return *memory == NULL ? hipErrorOutOfMemory : hipSuccess;
}

static inline hipError_t hipFree(void* memory) {
  free(memory);
  return hipSuccess;
}

static inline hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  (void)kind;
  memcpy(to, from, bytes);
  return hipSuccess;
}

static inline hipError_t hipStreamSynchronize(hipStream_t stream) {
  (void)stream; /* work on the CPU is done when its call returns */
  return hipSuccess;
}

#endif /* HIP_INCLUDE_HIP_HIP_RUNTIME_API_H */
