// SPDX-License-Identifier: MIT
#include <stdexcept>

#include "driver/device/device_peer.hpp"
#include "driver/unfused.hpp"

namespace fuseplan::driver {
namespace {

// With the fused problem's parameters.
std::vector<std::shared_ptr<BatchedCase>> split(fuseplanHandle_t handle, BatchedCase& fused) {
  std::vector<std::shared_ptr<BatchedCase>> steps;
  std::size_t parameter = 0;
  for (const ProblemSpec& step : steps_of(fused.problem())) {
    steps.push_back(std::make_shared<BatchedCase>(handle, step));
    Case& one = steps.back()->one();
    for (std::size_t i = 0; i < one.parameter_count(); ++i, ++parameter)
      one.set_parameter(i, fused.one().parameter(parameter).values());
  }
  return steps;
}

class UnfusedDevicePeer : public DevicePeer {
 public:
  explicit UnfusedDevicePeer(fuseplanHandle_t handle) : handle_(handle) {}
  std::string title() const override { return "fuseplan unfused"; }
  DeviceWays ways(BatchedCase& problem, const void*, void*) override {
    if (needs_tensor_between(problem.problem()))
      throw std::invalid_argument("op by op, the output cannot hold what lies between the ops");
    const auto steps = split(handle_, problem);
    const auto launch = [steps](const void* input, void* output) {
      const void* from = input;
      for (const auto& step : steps) {
        step->launch(from, output);
        from = output;
      }
    };
    return {{{"op by op", WayRole::contender, "fuseplan", launch}}, {}};
  }

 private:
  fuseplanHandle_t handle_;
};

}  // namespace

std::unique_ptr<DevicePeer> make_unfused_device_peer(fuseplanHandle_t handle) {
  return std::make_unique<UnfusedDevicePeer>(handle);
}

}  // namespace fuseplan::driver
