// SPDX-License-Identifier: MIT
#pragma once

#include "driver/cudnn/backend.hpp"
#include "driver/device/device_peer.hpp"

namespace fuseplan::driver {

struct GraphSide {
  fuseplanHandle_t device;
  const CudnnBackend& backend;
  void* handle;     ///< cuDNN's
  bool& built_any;  ///< plans, in this process
};

/// By cuDNN's graph API: the chain as one graph, or where it refuses that as the plain convolution
/// and a graph of the rest; and with the batch normalisation's factor in the weights, which
/// computes less. Each by the fastest of the plans that cuDNN's heuristics put first.
void add_graph_ways(DeviceWays& ways, const GraphSide& side, BatchedCase& fused, const void* input,
                    void* output);

}  // namespace fuseplan::driver
