// SPDX-License-Identifier: MIT
// cuDNN by its graphs, and by its single functions where those are all there is.
#include <fmt/format.h>

#include <optional>

#include "driver/cudnn/graph_ways.hpp"
#include "driver/cudnn/legacy_ways.hpp"

namespace fuseplan::driver {
namespace {

void* stream_of(fuseplanHandle_t handle) {
  void* stream = nullptr;
  check(fuseplanGetStream(handle, &stream));
  return stream;
}

/// One of cuDNN's interfaces, or why the library does not have it.
template <typename Interface>
struct Perhaps {
  std::optional<Interface> there;
  std::string why_not;

  Perhaps() {
    try {
      there.emplace();
    } catch (const std::exception& error) {
      why_not = error.what();
    }
  }
};

class CudnnPeer : public DevicePeer {
 public:
  explicit CudnnPeer(fuseplanHandle_t handle) : device_(handle), session_(stream_of(handle)) {
    if (!graph_.there && !legacy_.there)
      throw std::runtime_error(graph_.why_not + "; " + legacy_.why_not);
  }
  std::string title() const override { return "cuDNN " + session_.version(); }

  DeviceWays ways(BatchedCase& fused, const void* input, void* output) override {
    DeviceWays ways;
    if (graph_.there)
      add_graph_ways(ways, {device_, *graph_.there, session_.handle(), built_any_}, fused, input,
                     output);
    else
      ways.refused.push_back({"graph", graph_.why_not});
    if (legacy_.there)
      add_legacy_ways(ways, {device_, *legacy_.there, session_.handle()}, fused, input, output);
    else
      ways.refused.push_back({"op by op", legacy_.why_not});
    return ways;
  }

 private:
  fuseplanHandle_t device_;
  CudnnSession session_;
  Perhaps<CudnnBackend> graph_;
  Perhaps<CudnnLegacy> legacy_;
  bool built_any_ = false;
};

}  // namespace

std::unique_ptr<DevicePeer> make_cudnn_peer(fuseplanHandle_t handle) {
  return std::make_unique<CudnnPeer>(handle);
}

}  // namespace fuseplan::driver
