// SPDX-License-Identifier: MIT
#include "driver/device/device_peer.hpp"

#include <stdexcept>

namespace fuseplan::driver {
namespace {

/// Says for every problem why there is no peer.
class AbsentPeer : public DevicePeer {
 public:
  AbsentPeer(std::string name, std::string why) : name_(std::move(name)), why_(std::move(why)) {}
  std::string title() const override { return name_ + " (PEER ABSENT)"; }
  DeviceWays ways(BatchedCase&, const void*, void*) override {
    throw std::runtime_error("peer absent: " + why_);
  }

 private:
  std::string name_, why_;
};

}  // namespace

std::unique_ptr<DevicePeer> make_device_peer(const std::string& name, fuseplanHandle_t handle) {
  if (name == "unfused") return make_unfused_device_peer(handle);
  if (name != "cudnn")
    throw std::invalid_argument("\"" + name + "\" is no peer on a GPU: cudnn or unfused");
  try {
    return make_cudnn_peer(handle);
  } catch (const std::exception& error) {
    return std::make_unique<AbsentPeer>("cuDNN", error.what());
  }
}

}  // namespace fuseplan::driver
