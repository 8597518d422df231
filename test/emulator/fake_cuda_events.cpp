// SPDX-License-Identifier: MIT
// The part of the driver that fuseplan's own code does not use and its driver tool does: events and
// facts. Work is done when its launch returns, so that an event happens when it is recorded.
#include <chrono>
#include <cstddef>

#include "control.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct FakeEvent {
  Clock::time_point time;
};
constexpr int kSuccess = 0;

}  // namespace

extern "C" {
FUSEPLAN_EMULATOR_API int cuCtxSetCurrent(void*) { return kSuccess; }
FUSEPLAN_EMULATOR_API int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* all_bytes) {
  *free_bytes = std::size_t{64} << 20, *all_bytes = std::size_t{128} << 20;
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int cuEventCreate(void** event, unsigned) {
  *event = new FakeEvent;
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int cuEventDestroy_v2(void* event) {
  delete static_cast<FakeEvent*>(event);
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int cuEventRecord(void* event, void*) {
  static_cast<FakeEvent*>(event)->time = Clock::now();
  return kSuccess;
}
FUSEPLAN_EMULATOR_API int cuEventSynchronize(void*) { return kSuccess; }
FUSEPLAN_EMULATOR_API int cuEventElapsedTime(float* ms, void* begin, void* end) {
  *ms = std::chrono::duration<float, std::milli>(static_cast<FakeEvent*>(end)->time -
                                                 static_cast<FakeEvent*>(begin)->time)
            .count();
  return kSuccess;
}
}  // extern "C"
