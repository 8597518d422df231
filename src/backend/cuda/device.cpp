// SPDX-License-Identifier: MIT
#include "backend/cuda/device.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cuda/tensor_maps.hpp"
#include "base/status.hpp"

namespace fuseplan::cuda {

Device::Device(int ordinal) {
  const Driver& cuda = driver();
  DeviceHandle handle = 0;
  cuda.check(cuda.device_get(&handle, ordinal), "cuDeviceGet");
  char name[256] = {};
  cuda.check(cuda.device_name(name, sizeof name - 1, handle), "cuDeviceGetName");
  int major = 0, minor = 0;
  cuda.check(cuda.device_attribute(&major, kCapabilityMajor, handle), "cuDeviceGetAttribute");
  cuda.check(cuda.device_attribute(&minor, kCapabilityMinor, handle), "cuDeviceGetAttribute");
  cuda.check(cuda.device_attribute(&multiprocessors_, kMultiprocessors, handle),
             "cuDeviceGetAttribute");
  name_ = name;
  arch_ = fmt::format("sm_{}{}", major, minor);
  // What is sm_90a's alone is of use only with tensor maps.
  if (major == 9 && minor == 0 && has_tensor_maps()) arch_ += 'a';
  cuda.check(cuda.primary_retain(&context_, handle), "cuDevicePrimaryCtxRetain");
}

const Device& device(int ordinal) {
  static std::mutex& mutex = *new std::mutex;
  static auto& devices = *new std::vector<std::unique_ptr<const Device>>;
  const std::lock_guard lock(mutex);
  const auto index = static_cast<std::size_t>(ordinal);
  if (devices.size() <= index) devices.resize(index + 1);
  if (devices[index] == nullptr) devices[index] = std::make_unique<const Device>(ordinal);
  return *devices[index];
}

Stream checked_stream(const Device& device, void* stream) {
  const auto handle = static_cast<Stream>(stream);
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return handle;
  Context owner = nullptr;
  driver().check(driver().stream_context(handle, &owner), "cuStreamGetCtx");
  require(owner == device.context(), Status::BadParm,
          "the stream belongs to another device or context than the handle's: {}", device.name());
  return handle;
}

}  // namespace fuseplan::cuda
