// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/bench/row.hpp"
#include "driver/device/batched_case.hpp"
#include "driver/peer/peer.hpp"

namespace fuseplan::driver {

/// One way in which a peer runs a problem on a device, with its parameters there already.
struct DeviceWay {
  std::string name;
  WayRole role = WayRole::contender;
  std::string implementation;
  std::function<void(const void* input, void* output)> launch;
  std::optional<PlanTimes> plan = {};  ///< of ways that build one
  bool rounds_inputs = false;          ///< of f32, to tf32
};

/// What a peer offers for a problem, and what it would have but for the reasons beside.
struct DeviceWays {
  std::vector<DeviceWay> ways;
  std::vector<BenchRefusal> refused;
};

/// Like Peer, on a device: everything is queued on the handle's stream.
class DevicePeer {
 public:
  virtual ~DevicePeer() = default;
  virtual std::string title() const = 0;
  /// Every way worth timing. The input is for peers that try their algorithms out. Throws
  /// std::exception with a sentence for what the peer cannot do. The case outlives the ways.
  virtual DeviceWays ways(BatchedCase& problem, const void* input, void* output) = 0;
};
using DevicePeers = std::vector<std::unique_ptr<DevicePeer>>;

/// "unfused" or "cudnn". A peer that is not on this machine refuses every problem, with the reason.
std::unique_ptr<DevicePeer> make_device_peer(const std::string& name, fuseplanHandle_t handle);
/// fuseplan itself, op by op.
std::unique_ptr<DevicePeer> make_unfused_device_peer(fuseplanHandle_t handle);
/// cuDNN, opened at run time: FUSEPLAN_LIB_CUDNN or what the loader finds. Throws
/// std::runtime_error with every name tried where there is none.
std::unique_ptr<DevicePeer> make_cudnn_peer(fuseplanHandle_t handle);

}  // namespace fuseplan::driver
