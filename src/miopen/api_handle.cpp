// SPDX-License-Identifier: MIT
#include "miopen/handle.hpp"
#include "miopen/settings.hpp"

using namespace fuseplan::miopen;

namespace {

miopenHandle_t create(miopenAcceleratorQueue_t stream) {
  const Settings& from = settings();
  const char* device = from.device.empty() ? nullptr : from.device.c_str();
  const auto object = std::make_shared<Handle>();
  object->stream = stream;
  object->on_cpu = device == nullptr || from.device.starts_with("cpu");
  check(fuseplanCreateForDeviceWithStream(object->handle.out(), device,
                                          object->on_cpu ? nullptr : stream));
  if (!from.options.empty()) check(fuseplanSetOptions(object->handle.get(), from.options.c_str()));
  return publish<miopenHandle_t>(object);
}

}  // namespace

const char* miopenGetErrorString(miopenStatus_t error) {
  constexpr const char* kNames[] = {
      "miopenStatusSuccess",        "miopenStatusNotInitialized",
      "miopenStatusInvalidValue",   "miopenStatusBadParm",
      "miopenStatusAllocFailed",    "miopenStatusInternalError",
      "miopenStatusNotImplemented", "miopenStatusUnknownError",
      "miopenStatusUnsupportedOp",  "miopenStatusGpuOperationsSkipped",
      "miopenStatusVersionMismatch"};
  if (error < miopenStatusSuccess || error > miopenStatusVersionMismatch)
    return "Unknown error status";
  return kNames[error];
}

const char* fuseplanMiopenGetLastErrorMessage(void) { return last_message(); }

miopenStatus_t miopenGetVersion(size_t* major, size_t* minor, size_t* patch) {
  store(major, MIOPEN_VERSION_MAJOR);
  store(minor, MIOPEN_VERSION_MINOR);
  store(patch, MIOPEN_VERSION_PATCH);
  return miopenStatusSuccess;
}

miopenStatus_t miopenCreate(miopenHandle_t* handle) {
  return guard(__func__, [&] { *required(handle, "handle") = create(nullptr); });
}

miopenStatus_t miopenCreateWithStream(miopenHandle_t* handle, miopenAcceleratorQueue_t stream) {
  return guard(__func__, [&] { *required(handle, "handle") = create(stream); });
}

miopenStatus_t miopenDestroy(miopenHandle_t handle) {
  return guard(__func__, [&] { destroy(handle, "handle"); });
}

miopenStatus_t miopenSetStream(miopenHandle_t handle, miopenAcceleratorQueue_t streamID) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    if (!object->on_cpu) check(fuseplanSetStream(object->handle.get(), streamID));
    object->stream = streamID;
  });
}

miopenStatus_t miopenGetStream(miopenHandle_t handle, miopenAcceleratorQueue_t* streamID) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    *required(streamID, "streamID") = object->stream;
  });
}

miopenStatus_t miopenSetAllocator(miopenHandle_t handle, miopenAllocatorFunction allocator,
                                  miopenDeallocatorFunction deallocator, void* allocatorContext) {
  return guard(__func__, [&] {
    check(fuseplanSetAllocator(find(handle, "handle")->handle.get(), allocator, deallocator,
                               allocatorContext));
  });
}

miopenStatus_t miopenEnableProfiling(miopenHandle_t handle, bool enable) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    check(fuseplanEnableProfiling(object->handle.get(), enable));
    object->profiling = enable;
  });
}

miopenStatus_t miopenGetKernelTime(miopenHandle_t handle, float* time) {
  return guard(__func__, [&] {
    const auto object = find(handle, "handle");
    *required(time, "time") = 0;
    if (!object->profiling) return;
    if (object->loop_ms >= 0)
      *time = object->loop_ms;
    else
      check(fuseplanGetKernelTime(object->handle.get(), time));
  });
}
