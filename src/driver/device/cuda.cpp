// SPDX-License-Identifier: MIT
#include "driver/device/cuda.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "driver/bench/rounds.hpp"
#include "driver/device/buffer.hpp"
#include "driver/device/library.hpp"

namespace fuseplan::driver {
namespace {

/// Our own declarations of libcuda, by the exact names of their signatures.
struct Cuda {
  Library library{"FUSEPLAN_LIB_CUDA", {"libcuda.so.1"}};
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*device_get)(int*, int);
  int (*attribute)(int*, int, int);
  int (*retain)(void**, int);
  int (*set_current)(void*);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*event_create)(void**, unsigned);
  int (*event_destroy)(void*);
  int (*event_record)(void*, void*);
  int (*event_wait)(void*);
  int (*event_elapsed)(float*, void*, void*);

  Cuda() {
    library.find(init, "cuInit");
    library.find(driver_version, "cuDriverGetVersion");
    library.find(device_get, "cuDeviceGet");
    library.find(attribute, "cuDeviceGetAttribute");
    library.find(retain, "cuDevicePrimaryCtxRetain");
    library.find(set_current, "cuCtxSetCurrent");
    library.find(memory_info, "cuMemGetInfo_v2");
    library.find(event_create, "cuEventCreate");
    library.find(event_destroy, "cuEventDestroy_v2");
    library.find(event_record, "cuEventRecord");
    library.find(event_wait, "cuEventSynchronize");
    library.find(event_elapsed, "cuEventElapsedTime");
  }
};

const Cuda& cuda() {
  static const Cuda& once = *new Cuda;
  return once;
}

void check_cuda(int result, const char* call) {
  if (result != 0)
    throw std::runtime_error(std::string(call) + " failed with CUDA error " +
                             std::to_string(result));
}

// CUdevice_attribute
enum Attribute {
  kClock = 13,
  kMultiprocessors = 16,
  kMemoryClock = 36,
  kBusBits = 37,
  kL2 = 38,
  kMajor = 75,
  kMinor = 76
};

int attribute_of(int device, Attribute attribute) {
  int value = 0;
  check_cuda(cuda().attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

DeviceFacts facts_of(fuseplanHandle_t handle, int device) {
  DeviceFacts facts;
  facts.name = text_of(
      [&](char* text, std::size_t* size) { return fuseplanGetDeviceName(handle, text, size); });
  facts.arch = "sm_" + std::to_string(attribute_of(device, kMajor)) +
               std::to_string(attribute_of(device, kMinor));
  facts.multiprocessors = attribute_of(device, kMultiprocessors);
  facts.clock_mhz = attribute_of(device, kClock) / 1000;
  facts.memory_clock_mhz = attribute_of(device, kMemoryClock) / 1000;
  facts.memory_bus_bits = attribute_of(device, kBusBits);
  facts.l2_bytes = static_cast<std::size_t>(attribute_of(device, kL2));
  check_cuda(cuda().memory_info(&facts.free_bytes, &facts.memory_bytes), "cuMemGetInfo");
  check_cuda(cuda().driver_version(&facts.driver_version), "cuDriverGetVersion");
  facts.driver_path = cuda().library.path();
  return facts;
}

/// Multiply-adds of one multiprocessor in one clock (CUDA C++ Programming Guide, "Arithmetic
/// Instructions", and the architectures' white papers for the matrix units).
struct Throughput {
  const char* arch;
  int f32, half;
};
constexpr Throughput kThroughputs[] = {
    {"sm_70", 64, 512},  {"sm_75", 64, 512},   {"sm_80", 64, 1024},   {"sm_86", 128, 512},
    {"sm_89", 128, 512}, {"sm_90", 128, 2048}, {"sm_100", 128, 4096}, {"sm_120", 128, 512}};

}  // namespace

double DeviceFacts::nominal_gflops(fuseplanDataType_t type) const {
  for (const Throughput& row : kThroughputs)
    if (arch == row.arch)
      return 2e-3 * (type == fuseplanFloat ? row.f32 : row.half) * multiprocessors * clock_mhz;
  return 0;
}

DeviceClock::DeviceClock(fuseplanHandle_t handle) {
  const std::string text =
      text_of([&](char* name, std::size_t* size) { return fuseplanGetDevice(handle, name, size); });
  if (!text.starts_with("cuda:"))
    throw std::runtime_error("a clock of " + text + ": only CUDA devices have one here");
  check(fuseplanGetStream(handle, &stream_));
  int device = 0;
  void* context = nullptr;
  check_cuda(cuda().init(0), "cuInit");
  check_cuda(cuda().device_get(&device, std::stoi(text.substr(5))), "cuDeviceGet");
  check_cuda(cuda().retain(&context, device), "cuDevicePrimaryCtxRetain");
  check_cuda(cuda().set_current(context), "cuCtxSetCurrent");
  facts_ = facts_of(handle, device);
  for (Event* event : {&begin_, &end_}) {
    void* made = nullptr;
    check_cuda(cuda().event_create(&made, 0), "cuEventCreate");
    event->reset(made);
  }
}

void DeviceClock::Destroy::operator()(void* event) const { (void)cuda().event_destroy(event); }

double DeviceClock::seconds(const std::function<void()>& work, int repeats) const {
  check_cuda(cuda().event_record(begin_.get(), stream_), "cuEventRecord");
  for (int i = 0; i < repeats; ++i) work();
  check_cuda(cuda().event_record(end_.get(), stream_), "cuEventRecord");
  check_cuda(cuda().event_wait(end_.get()), "cuEventSynchronize");
  float ms = 0;
  check_cuda(cuda().event_elapsed(&ms, begin_.get(), end_.get()), "cuEventElapsedTime");
  return ms * 1e-3;
}

double device_copy_gbps(fuseplanHandle_t handle, const DeviceClock& clock) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const std::size_t bytes = std::min({kMost, clock.facts().free_bytes / 8,
                                      std::max<std::size_t>(1 << 20, 16 * clock.facts().l2_bytes)});
  const DeviceBuffer from(handle, bytes), to(handle, bytes);
  const auto copy = [&] {
    check(fuseplanCopy(handle, to.get(), from.get(), bytes, fuseplanCopyOnDevice));
  };
  copy();
  double best = 1e30;
  for (int i = 0; i < 10; ++i) best = std::min(best, clock.seconds(copy, 1));
  return 2e-9 * static_cast<double>(bytes) / std::max(best, 1e-9);
}

LaunchCost launch_cost(fuseplanHandle_t handle, const DeviceClock& clock) {
  const auto plan = make<Plan>(fuseplanCreatePlanFromString, "f32:1x1x1x1;activation(abs)");
  const auto args = make<Args>(fuseplanCreateOperatorArgs);
  const auto desc = make<TensorDesc>(fuseplanCreateTensorDescriptor);
  fuseplanOp_t op = nullptr;
  const DeviceBuffer memory(handle, sizeof(float));
  check(fuseplanPlanGetOp(plan.get(), 0, &op));
  check(fuseplanSetOpArgsActivForward(args.get(), op, nullptr, nullptr, 0, 0, 0));
  check(fuseplanPlanGetOutputDescriptor(plan.get(), desc.get()));
  check(fuseplanCompilePlan(handle, plan.get()));
  const float zero = 0;
  check(fuseplanCopy(handle, memory.get(), &zero, sizeof zero, fuseplanCopyToDevice));
  const auto launch = [&] {
    check(fuseplanExecutePlan(handle, plan.get(), desc.get(), memory.get(), desc.get(),
                              memory.get(), args.get()));
  };
  const int repeats = clock.facts().multiprocessors > 1 ? 200 : 2;
  std::vector<double> queued, waited;
  for (int i = 0; i < 5; ++i) {
    queued.push_back(clock.seconds(launch, repeats) / repeats * 1e6);
    const auto start = std::chrono::steady_clock::now();
    launch();
    check(fuseplanSynchronize(handle));
    waited.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  return {median(queued), median(waited)};
}

}  // namespace fuseplan::driver
