// SPDX-License-Identifier: MIT
#include "backend/cuda/launch.hpp"

#include "base/status.hpp"

namespace fuseplan::cuda {

void require_clusters(unsigned blocks) {
  require(blocks == 1 || driver().launch_extended != nullptr, Status::UnsupportedOp,
          "{} lacks cuLaunchKernelEx, which launches clusters of blocks: a driver for CUDA 11.8 or "
          "later is needed",
          driver().path);
}

void enqueue(FunctionHandle function, const gpu::Call& call, unsigned grid, Stream stream) {
  // One parameter, the block. Not as `extra`: that has to start where the device's block of
  // parameters does, of which ptxas for sm_90a leaves 48 bytes in front of what is aligned to 64.
  void* parameters[] = {const_cast<std::byte*>(call.arguments.data())};
  if (call.cluster == 1) {
    driver().check(driver().launch(function, grid, 1, 1, call.block, 1, 1, call.shared_bytes,
                                   stream, parameters, nullptr),
                   "cuLaunchKernel");
    return;
  }
  const LaunchAttribute cluster{kClusterDimension, {call.cluster, 1, 1}};
  const LaunchConfig config{{grid, 1, 1}, {call.block, 1, 1}, call.shared_bytes,
                            stream,       &cluster,           1};
  driver().check(driver().launch_extended(&config, function, parameters, nullptr),
                 "cuLaunchKernelEx");
}

}  // namespace fuseplan::cuda
