// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "miopen/chain.hpp"

namespace fuseplan::miopen {

/// A handle of fuseplan's, and what was compiled for it.
struct Handle {
  Owned<fuseplanHandle_t, fuseplanDestroy> handle;
  miopenAcceleratorQueue_t stream = nullptr;
  bool on_cpu = true;
  std::atomic<bool> profiling = false;
  std::atomic<float> loop_ms = -1;  ///< time of the last loop of our own; negative: fuseplan knows
  ChainCache chains;

  std::shared_ptr<CompiledChain> compiled(const Chain& chain) {
    return chains.get(handle.get(), chain);
  }
  /// Compiles at the first call with such a chain.
  void run(const Chain& chain, const void* input, void* output,
           std::span<const OpArguments> arguments) {
    loop_ms = -1;
    compiled(chain)->execute(input, output, arguments);
  }
};

}  // namespace fuseplan::miopen
