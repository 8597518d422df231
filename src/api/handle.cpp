// SPDX-License-Identifier: MIT
#include "fuseplan/handle.h"

#include <cstdint>

#include "api/guard.hpp"
#include "api/objects.hpp"

using namespace fuseplan;
using namespace fuseplan::api;

namespace {

Backend::Direction direction_of(fuseplanCopyDirection_t direction) {
  switch (direction) {
    case fuseplanCopyToDevice:
      return Backend::Direction::to_device;
    case fuseplanCopyToHost:
      return Backend::Direction::to_host;
    case fuseplanCopyOnDevice:
      return Backend::Direction::on_device;
  }
  fail(Status::InvalidValue, "direction is {}, expected 0, 1 or 2", static_cast<int>(direction));
}

void create_handle(fuseplanHandle_t* handle, const char* device,
                   fuseplanAcceleratorQueue_t stream) {
  required(handle, "handle");
  require(device == nullptr || *device != '\0', Status::BadParm,
          "device is empty, expected a name such as cpu or cuda:0, or NULL for cpu");
  *handle = create<fuseplanHandle_t>(device == nullptr ? "cpu" : device, stream);
}

}  // namespace

fuseplanStatus_t fuseplanCreate(fuseplanHandle_t* handle) {
  return guard(__func__, [&] { create_handle(handle, nullptr, nullptr); });
}

fuseplanStatus_t fuseplanCreateForDevice(fuseplanHandle_t* handle, const char* device) {
  return guard(__func__, [&] { create_handle(handle, device, nullptr); });
}

fuseplanStatus_t fuseplanCreateWithStream(fuseplanHandle_t* handle,
                                          fuseplanAcceleratorQueue_t stream) {
  return guard(__func__, [&] { create_handle(handle, nullptr, stream); });
}

fuseplanStatus_t fuseplanCreateForDeviceWithStream(fuseplanHandle_t* handle, const char* device,
                                                   fuseplanAcceleratorQueue_t stream) {
  return guard(__func__, [&] { create_handle(handle, device, stream); });
}

fuseplanStatus_t fuseplanDestroy(fuseplanHandle_t handle) {
  return guard(__func__, [&] { destroy(handle, "handle"); });
}

fuseplanStatus_t fuseplanSetStream(fuseplanHandle_t handle, fuseplanAcceleratorQueue_t streamID) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    require(streamID == nullptr || object->handle.backend().name() != "cpu", Status::BadParm,
            "streamID is not NULL, but the handle is on a CPU, which has no streams");
    object->handle.set_stream(streamID);
  });
}

fuseplanStatus_t fuseplanGetStream(fuseplanHandle_t handle, fuseplanAcceleratorQueue_t* streamID) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    *required(streamID, "streamID") = object->handle.stream();
  });
}

fuseplanStatus_t fuseplanSynchronize(fuseplanHandle_t handle) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    object->handle.check_process();
    object->handle.backend().synchronize(object->handle.device(), object->handle.stream());
  });
}

fuseplanStatus_t fuseplanGetDeviceName(fuseplanHandle_t handle, char* text, size_t* size) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    write_text(text, size, object->handle.backend().device_name(object->handle.device()));
  });
}

fuseplanStatus_t fuseplanGetDevice(fuseplanHandle_t handle, char* text, size_t* size) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    write_text(text, size, object->handle.device_text());
  });
}

fuseplanStatus_t fuseplanSetThreadCount(fuseplanHandle_t handle, int threadCount) {
  return guard(__func__, [&] { pin(handle, "handle")->handle.set_threads(threadCount); });
}

fuseplanStatus_t fuseplanGetThreadCount(fuseplanHandle_t handle, int* threadCount) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    *required(threadCount, "threadCount") = object->handle.threads();
  });
}

fuseplanStatus_t fuseplanSetParallelFor(fuseplanHandle_t handle, fuseplanParallelFor_t parallelFor,
                                        void* context) {
  return guard(__func__,
               [&] { pin(handle, "handle")->handle.set_parallel_for(parallelFor, context); });
}

fuseplanStatus_t fuseplanSetAllocator(fuseplanHandle_t handle, fuseplanAllocatorFunction allocator,
                                      fuseplanDeallocatorFunction deallocator,
                                      void* allocatorContext) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    require((allocator == nullptr) == (deallocator == nullptr), Status::BadParm,
            "{} is NULL and the other function is not; expected both or none",
            allocator == nullptr ? "allocator" : "deallocator");
    object->handle.set_allocator({allocator, deallocator, allocatorContext});
  });
}

fuseplanStatus_t fuseplanMalloc(fuseplanHandle_t handle, size_t bytes, void** memory) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    required(memory, "memory");
    require(bytes <= PTRDIFF_MAX, Status::AllocFailed, "cannot allocate {} bytes", bytes);
    object->handle.check_process();
    *memory = object->handle.backend().allocate(object->handle.device(), bytes == 0 ? 1 : bytes);
  });
}

fuseplanStatus_t fuseplanFree(fuseplanHandle_t handle, void* memory) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    object->handle.check_process();
    if (memory != nullptr) object->handle.backend().free(object->handle.device(), memory);
  });
}

fuseplanStatus_t fuseplanCopy(fuseplanHandle_t handle, void* destination, const void* source,
                              size_t bytes, fuseplanCopyDirection_t direction) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    const Backend::Direction way = direction_of(direction);
    object->handle.check_process();
    if (bytes == 0) return;
    object->handle.backend().copy(object->handle.device(), required(destination, "destination"),
                                  required(source, "source"), bytes, way, object->handle.stream());
  });
}

fuseplanStatus_t fuseplanEnableProfiling(fuseplanHandle_t handle, bool enable) {
  return guard(__func__, [&] { pin(handle, "handle")->handle.set_profiling(enable); });
}

fuseplanStatus_t fuseplanGetKernelTime(fuseplanHandle_t handle, float* time) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    required(time, "time");
    require(object->handle.profiling(), Status::BadParm,
            "profiling is off for this handle: call fuseplanEnableProfiling(handle, true) first");
    *time = object->handle.kernel_ms();
  });
}

fuseplanStatus_t fuseplanSetOptions(fuseplanHandle_t handle, const char* options) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    object->handle.set_options(required(options, "options"));
    object->one_shots.clear();
  });
}

fuseplanStatus_t fuseplanGetOptions(fuseplanHandle_t handle, char* text, size_t* size) {
  return guard(__func__, [&] {
    const auto object = pin(handle, "handle");
    write_text(text, size, object->handle.options().to_text());
  });
}
