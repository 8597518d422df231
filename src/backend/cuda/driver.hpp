// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fuseplan::cuda {

// Our own declarations of the driver API (libcuda): nothing of NVIDIA's is needed to build.
using Result = int;  // CUresult
using DeviceHandle = int;
using DevicePointer = unsigned long long;
using Context = struct ContextOf*;
using Stream = struct StreamOf*;
using Module = struct ModuleOf*;
using FunctionHandle = struct FunctionOf*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2, kStubLibrary = 34, kNoDevice = 100;
inline constexpr Result kDriverMismatch = 803, kNotCompatible = 804;
inline constexpr Result kCaptureUnsupported = 900, kCaptureLast = 908;
inline bool is_of_capture(Result result) {
  return result >= kCaptureUnsupported && result <= kCaptureLast;
}
// CUdevice_attribute, CUfunction_attribute
inline constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76;
inline constexpr int kLocalBytes = 3, kMaxSharedBytes = 8;

inline constexpr int kClusterDimension = 4;  // CUlaunchAttributeID
struct LaunchAttribute {                     // CUlaunchAttribute, whose value is a union
  int id;
  alignas(8) unsigned value[16];
};
struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

/// The functions of libcuda.so.1, and how many devices cuInit found.
struct Driver {
#define FUSEPLAN_CUDA(name, base, symbol, version, parameters) Result(*name) parameters = nullptr;
#include "backend/cuda/driver_functions.def"
#undef FUSEPLAN_CUDA
  std::string path;
  int version = 0;  ///< of CUDA that the driver offers: 12040 is 12.4
  int devices = 0;

  /// Throws Error with the driver's words for `result`, unless it is success.
  void check(Result result, const char* call) const;
  std::string words(Result result) const;  ///< "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"
};

/// Loaded at the first call, once; nullptr where there is no driver, or no device.
const Driver* find_driver();
/// Why find_driver() gives nullptr.
const std::string& driver_problem();
/// Throws Error(NotInitialized) with driver_problem().
const Driver& driver();

}  // namespace fuseplan::cuda
