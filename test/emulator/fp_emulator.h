// SPDX-License-Identifier: MIT
// The dialect of kernels/gpu for the host, put in front of a kernel's source: threads are fibers of
// the engine, and every global address is checked.
#pragma once

#include <math.h>
#include <string.h>

#define FP_EMULATOR 1

/// What engine and kernel share. The engine sets it before it lets a thread of the kernel run.
struct fp_machine {
  struct range {
    unsigned long long first, last;  ///< addresses; last is one past the end
  };
  /// What a meeting does with what its threads gave, in order of lanes.
  using act = void (*)(fp_machine*, void* const* given, unsigned count);

  void (*barrier)(fp_machine*, int line);
  /// `lanes` neighbouring threads (a power of two) meet, each with something of its own. The last
  /// one to come acts for all. Threads that come with another line or act are a fault.
  void (*meet)(fp_machine*, int line, unsigned lanes, act what, void* mine);
  /// An asynchronous copy of 16 bytes into shared memory, of which the first `bytes` come from
  /// `from` and the others are zeros. It lands at any time from now until the thread waits for its
  /// group.
  void (*copy)(fp_machine*, unsigned to, const void* from, unsigned bytes);
  void (*copy_commit)(fp_machine*);
  void (*copy_wait)(fp_machine*, unsigned groups);  ///< all groups but the last few have landed
  /// The barrier of all threads of a cluster's blocks, in two halves.
  void (*cluster_arrive)(fp_machine*, int line);
  void (*cluster_wait)(fp_machine*);
  /// Bytes of the shared memory of the cluster's block `rank`.
  const void* (*cluster_memory)(fp_machine*, unsigned rank, unsigned at, unsigned bytes);
  void (*fault)(fp_machine*, const char* what, unsigned long long address, unsigned bytes);
  unsigned thread, block;
  unsigned cluster_rank, cluster_blocks;
  float* shared;
  unsigned shared_bytes;
  struct fp_hopper* hopper;  ///< of fp_emulator_hopper.h
  const range* ranges;
  unsigned long range_count, last_range;
};

#if !defined(FP_EMULATOR_ENGINE)

// The engine runs one launch at a time. A variable for each thread would be a call at each access.
static fp_machine* fp_now;
extern "C" void fp_emulator_enter(fp_machine* machine) { fp_now = machine; }

#define FP_FN static inline
#define FP_KERNEL(name, threads)                                                        \
  static void name##_body(const fp_args& a);                                            \
  extern "C" unsigned long name##_bytes() { return sizeof(fp_args); }                   \
  extern "C" void name(const void* a) { name##_body(*static_cast<const fp_args*>(a)); } \
  static void name##_body(const fp_args& a)
#define FP_KERNEL_BLOCKS(name, threads, blocks) FP_KERNEL(name, threads)
#define FP_SHARED(name) float* const name = fp_now->shared

FP_FN unsigned fp_thread() { return fp_now->thread; }
FP_FN unsigned fp_block() { return fp_now->block; }
#define fp_barrier() fp_now->barrier(fp_now, __LINE__)
FP_FN unsigned fp_mul_hi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
FP_FN float fp_as_float(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
FP_FN unsigned fp_as_bits(float value) {
  unsigned bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
/// 2^exponent in the range of normal numbers, of which ldexpf would take ten times as long.
FP_FN float fp_two_to(int exponent) {
  return fp_as_float(static_cast<unsigned>(exponent + 127) << 23);
}
FP_FN float fp_half_to_float(unsigned short bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float sign = bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * static_cast<float>(mantissa) * 0x1p-24f;
  return sign * static_cast<float>(mantissa + 1024) * fp_two_to(exponent - 25);
}
FP_FN unsigned short fp_float_to_half(float value) {
  const unsigned sign = fp_as_bits(value) >> 16 & 0x8000u;
  const float magnitude = fabsf(value);
  if (value != value) return static_cast<unsigned short>(sign | 0x7e00u);
  if (magnitude >= 65520.0f) return static_cast<unsigned short>(sign | 0x7c00u);
  // Steps of a half near the value: 2^-24 below 2^-14, else 2^-10 of its power of two.
  const int exponent = magnitude < 0x1p-14f ? -14 : ilogbf(magnitude);
  // 2048 carries into the exponent.
  const float steps = nearbyintf(magnitude * fp_two_to(10 - exponent));
  const int rest = magnitude < 0x1p-14f ? 0 : (exponent + 14) * 1024;
  return static_cast<unsigned short>(sign | static_cast<unsigned>(rest + static_cast<int>(steps)));
}

FP_FN void fp_check(const void* at, unsigned align, unsigned bytes, const char* outside,
                    const char* crooked) {
  const auto address = reinterpret_cast<unsigned long long>(at);
  if (address % align != 0) fp_now->fault(fp_now, crooked, address, bytes);
  const auto holds = [&](unsigned long i) {
    return fp_now->ranges[i].first <= address && address + bytes <= fp_now->ranges[i].last;
  };
  if (fp_now->last_range < fp_now->range_count && holds(fp_now->last_range)) return;
  for (unsigned long i = 0; i < fp_now->range_count; ++i)
    if (holds(i)) {
      fp_now->last_range = i;
      return;
    }
  fp_now->fault(fp_now, outside, address, bytes);
}
template <typename T>
FP_FN T fp_get(const void* base, long long index) {
  const T* at = static_cast<const T*>(base) + index;
  fp_check(at, alignof(T), sizeof(T), "a load from outside all memory", "a misaligned load");
  return *at;
}
template <typename T>
FP_FN void fp_put(void* base, long long index, const T& value) {
  T* at = static_cast<T*>(base) + index;
  fp_check(at, alignof(T), sizeof(T), "a store outside all memory", "a misaligned store");
  *at = value;
}

#include "fp_emulator_warp.h"

#include "fp_emulator_cluster.h"

#include "fp_emulator_hopper.h"

#endif
