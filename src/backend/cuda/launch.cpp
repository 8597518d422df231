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
  std::size_t bytes = call.arguments.size();
  void* extra[] = {kExtraPointer, const_cast<std::byte*>(call.arguments.data()), kExtraSize, &bytes,
                   kExtraEnd};
  if (call.cluster == 1) {
    driver().check(driver().launch(function, grid, 1, 1, call.block, 1, 1, call.shared_bytes,
                                   stream, nullptr, extra),
                   "cuLaunchKernel");
    return;
  }
  const LaunchAttribute cluster{kClusterDimension, {call.cluster, 1, 1}};
  const LaunchConfig config{{grid, 1, 1}, {call.block, 1, 1}, call.shared_bytes,
                            stream,       &cluster,           1};
  driver().check(driver().launch_extended(&config, function, nullptr, extra), "cuLaunchKernelEx");
}

}  // namespace fuseplan::cuda
