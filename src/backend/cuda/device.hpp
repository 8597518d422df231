// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backend/cuda/driver.hpp"

namespace fuseplan::cuda {

/// A device with its primary context, which the CUDA runtime and every framework use too: their
/// pointers and streams are ours. Retained at first use and kept: memory, modules and captured
/// graphs may outlive any handle.
class Device {
 public:
  /// Throws Error as Driver::check.
  explicit Device(int ordinal);
  Context context() const { return context_; }
  const std::string& name() const { return name_; }
  /// "sm_80"; "sm_90a" where the architecture's own instructions can be used too.
  const std::string& arch() const { return arch_; }
  int multiprocessors() const { return multiprocessors_; }

 private:
  Context context_ = nullptr;
  std::string name_, arch_;
  int multiprocessors_ = 0;
};

/// Opened at the first call; a failure is tried again at the next.
const Device& device(int ordinal);

/// Makes the device's context the thread's current one, and puts back what was.
class CurrentContext {
 public:
  explicit CurrentContext(const Device& device) {
    driver().check(driver().context_push(device.context()), "cuCtxPushCurrent");
  }
  ~CurrentContext() {
    Context popped = nullptr;
    (void)driver().context_pop(&popped);  // fails only with a process that is going down
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
};

/// The caller's stream: NULL, legacy (1) and per-thread (2) mean the current context's; any other
/// must belong to the device's primary context. Throws Error(BadParm).
Stream checked_stream(const Device& device, void* stream);

}  // namespace fuseplan::cuda
