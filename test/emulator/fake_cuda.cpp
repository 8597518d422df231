// SPDX-License-Identifier: MIT
// A driver (libcuda) without a device: memory is the host's, a module is a shared library that
// fake_nvrtc.cpp made, and a launch runs it in the emulator when its stream comes to it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "backend/cuda/driver.hpp"
#include "engine.hpp"
#include "fake_streams.hpp"
#include "kernels/gpu/arguments.hpp"
#include "state.hpp"

namespace fuseplan::emulator {
namespace {

using cuda::Context, cuda::DeviceHandle, cuda::DevicePointer, cuda::FunctionHandle, cuda::Module;
using cuda::Result, cuda::Stream;

constexpr Result kInvalidValue = 1, kInvalidContext = 201, kInvalidImage = 200, kNotFound = 500;
constexpr Result kInvalidClusterSize = 912;
constexpr int kVersion = 12040;

/// Of a parameter with tensor maps in it.
struct alignas(64) AlignedBytes {
  std::byte bytes[64];
};

struct FakeContext {
  int device;
};
FakeContext primary{0}, other{0};

struct FakeModule {
  FakeModule(void* opened, int descriptor) : library(opened), file(descriptor) {}

  void* library;
  int file;  ///< open as long as the library is: dlopen() takes equal paths for the same library
  bool loaded = true;
};
struct FakeFunction {
  FakeModule* module;
  std::string name;
  void (*kernel)(const void*);
  std::size_t bytes;                 ///< of its one parameter
  unsigned shared_bytes = 48 << 10;  ///< that a launch may have
};

/// For good: callers need not copy what the driver says, and some ask while the process ends.
const char* kept(std::string text) {
  static auto& mutex = *new std::mutex;
  static auto& texts = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return texts.insert(std::move(text)).first->c_str();
}

thread_local long depth = 0;
thread_local bool set_current = false;  ///< a context, below what has been pushed

std::vector<fp_machine::range> known_memory() {
  const std::lock_guard lock(state().mutex);
  std::vector<fp_machine::range> ranges;
  for (const auto& [first, bytes] : state().memory) ranges.push_back({first, first + bytes});
  return ranges;
}

void* host(DevicePointer pointer) { return reinterpret_cast<void*>(pointer); }

/// What a copy does with memory of the device.
struct Touched {
  DevicePointer first;
  std::size_t bytes;
};
std::string outside_all(const std::vector<fp_machine::range>& memory, const Touched& touched) {
  for (const fp_machine::range& range : memory)
    if (range.first <= touched.first && touched.first + touched.bytes <= range.last) return {};
  return fmt::format("a copy outside all memory ({} bytes at {:#x})", touched.bytes, touched.first);
}

/// Reads its source and writes when its stream comes to it, as with memory that needs no staging.
Result copy(void* to, const void* from, std::vector<Touched> device, std::size_t bytes,
            Stream stream) {
  return queues().enqueue(stream, [=, device = std::move(device)]() -> std::string {
    const auto memory = known_memory();
    for (const Touched& touched : device)
      if (std::string fault = outside_all(memory, touched); !fault.empty()) return fault;
    std::memcpy(to, from, bytes);
    return {};
  });
}

std::string run_kernel(const FakeFunction& function, unsigned grid, unsigned block,
                       unsigned cluster, unsigned shared_bytes, const void* args) {
  if (!function.module->loaded) return function.name + " is in a module that has been unloaded";
  const auto memory = known_memory();
  std::uint64_t seed;
  {
    const std::lock_guard lock(state().mutex);
    seed = state().seed;
  }
  const auto enter_library =
      reinterpret_cast<void (*)(fp_machine*)>(dlsym(function.module->library, "fp_emulator_enter"));
  return run(
      {enter_library, function.kernel, args, grid, block, cluster, shared_bytes, memory, seed});
}

/// What both ways to launch have in common.
Result launch(const cuda::LaunchConfig& config, unsigned cluster, FunctionHandle function,
              void** parameters, void** extra) {
  const auto one_row = [](const unsigned(&lengths)[3]) {
    return lengths[1] == 1 && lengths[2] == 1;
  };
  if (!one_row(config.grid) || !one_row(config.block) || config.grid[0] == 0 ||
      config.block[0] == 0 || config.block[0] > 1024 || parameters == nullptr || extra != nullptr)
    return kInvalidValue;
  const auto& fake = *reinterpret_cast<const FakeFunction*>(function);
  if (config.shared_bytes > fake.shared_bytes) return kInvalidValue;
  // The caller's block is copied, of the kernel's own size, behind which it must end: it may be
  // gone before the device reads it.
  std::vector<AlignedBytes> args((fake.bytes + sizeof(AlignedBytes) - 1) / sizeof(AlignedBytes));
  std::memcpy(args.data(), parameters[0], fake.bytes);
  if (std::memcmp(static_cast<const std::byte*>(parameters[0]) + fake.bytes,
                  &gpu::ArgumentBlock::kEndMark, sizeof gpu::ArgumentBlock::kEndMark) != 0)
    return kInvalidValue;
  {
    const std::lock_guard lock(state().mutex);
    state().counters.launches.push_back({fake.name, config.stream, cluster});
  }
  const unsigned grid = config.grid[0], block = config.block[0], shared = config.shared_bytes;
  return queues().enqueue(config.stream, [=, &fake, args = std::move(args)] {
    return run_kernel(fake, grid, block, cluster, shared, args.data());
  });
}

}  // namespace

Context primary_context() { return reinterpret_cast<Context>(&primary); }
Context other_context() { return reinterpret_cast<Context>(&other); }

Result enter(Safety safety) {
  queues().advance();
  {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    ++s.counters.calls;
    if (fails_now()) return s.failure;
  }
  return safety == unsafe_in_capture ? queues().unsafe_call() : cuda::kSuccess;
}
Result enter_context(Safety safety) {
  if (const Result result = enter(safety)) return result;
  return depth > 0 || set_current ? cuda::kSuccess : kInvalidContext;
}

extern "C" {
FUSEPLAN_EMULATOR_API Result cuInit(unsigned) {
  const char* code = std::getenv("FUSEPLAN_FAKE_INIT");
  return code == nullptr ? enter() : std::atoi(code);
}
FUSEPLAN_EMULATOR_API Result cuDriverGetVersion(int* version) {
  *version = kVersion;
  return enter();
}
FUSEPLAN_EMULATOR_API Result cuGetErrorName(Result result, const char** text) {
  *text = kept(fmt::format("CUDA_ERROR_FAKE_{}", result));
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuGetErrorString(Result result, const char** text) {
  *text = kept(result == kLaunchFailed ? queues().fault()
               : result == kHeld       ? "waits for a stream that a test holds"
                                       : "as the test wanted");
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuDeviceGetCount(int* count) {
  *count = 1;
  return enter();
}
FUSEPLAN_EMULATOR_API Result cuDeviceGet(DeviceHandle* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? enter() : kInvalidValue;
}
FUSEPLAN_EMULATOR_API Result cuDeviceGetName(char* name, int size, DeviceHandle) {
  std::strncpy(name, "Emulated device", static_cast<std::size_t>(size));
  return enter();
}
FUSEPLAN_EMULATOR_API Result cuDeviceGetAttribute(int* value, int attribute, DeviceHandle) {
  *value = attribute == cuda::kCapabilityMajor ? 9 : attribute == cuda::kMultiprocessors ? 3 : 0;
  return enter();
}
FUSEPLAN_EMULATOR_API Result cuDevicePrimaryCtxRetain(Context* context, DeviceHandle) {
  *context = primary_context();
  return enter();
}
FUSEPLAN_EMULATOR_API Result cuCtxPushCurrent_v2(Context context) {
  if (const Result result = enter()) return result;
  if (context != primary_context()) return kInvalidContext;
  ++depth;
  const std::lock_guard lock(state().mutex);
  ++state().counters.pushed;
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuCtxPopCurrent_v2(Context*) {
  --depth;
  {
    const std::lock_guard lock(state().mutex);
    --state().counters.pushed;
  }
  return enter();
}
FUSEPLAN_EMULATOR_API Result cuCtxSetCurrent(Context context) {
  if (const Result result = enter()) return result;
  if (context != nullptr && context != primary_context()) return kInvalidContext;
  set_current = context != nullptr;
  return cuda::kSuccess;
}

FUSEPLAN_EMULATOR_API Result cuModuleLoadData(Module* module, const void* image) {
  if (const Result result = enter_context(unsafe_in_capture)) return result;
  std::uint64_t bytes = 0;  // fake_nvrtc.cpp puts it in front
  std::memcpy(&bytes, image, sizeof bytes);
  const int file = memfd_create("kernel", MFD_CLOEXEC);
  const auto* code = static_cast<const char*>(image) + sizeof bytes;
  if (bytes > 1 << 26 || write(file, code, bytes) != static_cast<ssize_t>(bytes))
    return close(file), kInvalidImage;
  void* library = dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return close(file), kInvalidImage;
  static auto& modules = *new std::vector<std::unique_ptr<FakeModule>>;
  const std::lock_guard lock(state().mutex);
  modules.push_back(std::make_unique<FakeModule>(library, file));
  *module = reinterpret_cast<Module>(modules.back().get());
  ++state().counters.modules;
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuModuleUnload(Module module) {
  auto* fake = reinterpret_cast<FakeModule*>(module);
  fake->loaded = false;  // and never deleted: what is queued finds out
  dlclose(fake->library);
  close(fake->file);
  {
    const std::lock_guard lock(state().mutex);
    --state().counters.modules;
  }
  return enter_context(unsafe_in_capture);
}
FUSEPLAN_EMULATOR_API Result cuModuleGetFunction(FunctionHandle* function, Module module,
                                                 const char* name) {
  if (const Result result = enter_context()) return result;
  auto* fake = reinterpret_cast<FakeModule*>(module);
  const auto kernel = reinterpret_cast<void (*)(const void*)>(dlsym(fake->library, name));
  const auto bytes = reinterpret_cast<unsigned long (*)()>(
      dlsym(fake->library, (std::string(name) + "_bytes").c_str()));
  if (kernel == nullptr || bytes == nullptr) return kNotFound;
  static auto& functions = *new std::vector<std::unique_ptr<FakeFunction>>;
  const std::lock_guard lock(state().mutex);
  functions.push_back(std::make_unique<FakeFunction>(FakeFunction{fake, name, kernel, bytes()}));
  *function = reinterpret_cast<FunctionHandle>(functions.back().get());
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuFuncGetAttribute(int* value, int, FunctionHandle) {
  *value = 0;
  return enter_context();
}

FUSEPLAN_EMULATOR_API Result cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  if (const Result result = enter_context()) return result;
  constexpr int kMost = 227 << 10;  // of compute capability 9.0
  if (attribute != cuda::kMaxSharedBytes || value < 0 || value > kMost) return kInvalidValue;
  reinterpret_cast<FakeFunction*>(function)->shared_bytes = static_cast<unsigned>(value);
  return cuda::kSuccess;
}

FUSEPLAN_EMULATOR_API Result cuFuncLoad(FunctionHandle) { return enter_context(unsafe_in_capture); }

FUSEPLAN_EMULATOR_API Result cuLaunchKernel(FunctionHandle function, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z,
                                            unsigned shared_bytes, Stream stream, void** parameters,
                                            void** extra) {
  if (const Result result = enter_context()) return result;
  const cuda::LaunchConfig config{
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, nullptr, 0};
  return launch(config, 1, function, parameters, extra);
}

FUSEPLAN_EMULATOR_API Result cuLaunchKernelEx(const cuda::LaunchConfig* config,
                                              FunctionHandle function, void** parameters,
                                              void** extra) {
  if (const Result result = enter_context()) return result;
  constexpr unsigned kPortable = 8;  // blocks of a cluster on every device
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const cuda::LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id != cuda::kClusterDimension) return kInvalidValue;
    cluster = attribute.value[0];
    if (cluster == 0 || cluster > kPortable || attribute.value[1] != 1 || attribute.value[2] != 1)
      return kInvalidClusterSize;
  }
  if (config->grid[0] % cluster != 0) return kInvalidValue;
  return launch(*config, cluster, function, parameters, extra);
}

FUSEPLAN_EMULATOR_API Result cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  if (const Result result = enter_context(unsafe_in_capture)) return result;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return cuda::kOutOfMemory;
  *pointer = reinterpret_cast<DevicePointer>(memory);
  const std::lock_guard lock(state().mutex);
  state().memory[*pointer] = bytes;
  ++state().counters.allocations;
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuMemFree_v2(DevicePointer pointer) {
  if (const Result result = enter_context(unsafe_in_capture)) return result;
  {
    const std::lock_guard lock(state().mutex);
    if (state().memory.erase(pointer) == 0) return kInvalidValue;
    --state().counters.allocations;
  }
  std::free(host(pointer));
  return cuda::kSuccess;
}
FUSEPLAN_EMULATOR_API Result cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* all_bytes) {
  *free_bytes = std::size_t{64} << 20, *all_bytes = std::size_t{128} << 20;
  return enter_context();
}

FUSEPLAN_EMULATOR_API Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from,
                                                  std::size_t bytes, Stream stream) {
  if (const Result result = enter_context()) return result;
  return copy(host(to), from, {{to, bytes}}, bytes, stream);
}
FUSEPLAN_EMULATOR_API Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes,
                                                  Stream stream) {
  if (const Result result = enter_context()) return result;
  return copy(to, host(from), {{from, bytes}}, bytes, stream);
}
FUSEPLAN_EMULATOR_API Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from,
                                                  std::size_t bytes, Stream stream) {
  if (const Result result = enter_context()) return result;
  return copy(host(to), host(from), {{to, bytes}, {from, bytes}}, bytes, stream);
}

// The synchronous ones: in the legacy default stream. One inside the device does not wait.
FUSEPLAN_EMULATOR_API Result cuMemcpyHtoD_v2(DevicePointer to, const void* from,
                                             std::size_t bytes) {
  if (const Result result = cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr)) return result;
  return queues().synchronize(Stream{});
}
FUSEPLAN_EMULATOR_API Result cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  if (const Result result = cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr)) return result;
  return queues().synchronize(Stream{});
}
FUSEPLAN_EMULATOR_API Result cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from,
                                             std::size_t bytes) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr);
}

/// This library, in which no other's symbols are found.
void* own_library() {
  static void* const handle = [] {
    Dl_info info{};
    return dladdr(&primary, &info) == 0 ? nullptr : dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return handle;
}

/// Knows base names and the versions that gave them their signatures, as drivers from 12.0 on do.
FUSEPLAN_EMULATOR_API Result cuGetProcAddress_v2(const char* base, void** function, int version,
                                                 std::uint64_t, int*) {
  if (version > kVersion) return kInvalidValue;
#define FUSEPLAN_CUDA(name, base_name, symbol, since, parameters) \
  if (std::strcmp(base, base_name) == 0)                          \
    *function = version >= since ? dlsym(own_library(), symbol) : nullptr;
#include "backend/cuda/driver_functions.def"
#undef FUSEPLAN_CUDA
  return *function == nullptr ? kNotFound : cuda::kSuccess;
}
}  // extern "C"

}  // namespace fuseplan::emulator
