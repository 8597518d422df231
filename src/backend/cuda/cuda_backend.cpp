// SPDX-License-Identifier: MIT
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "backend/backend.hpp"
#include "backend/cuda/compiler_note.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/launch.hpp"
#include "backend/cuda/nvrtc.hpp"
#include "backend/cuda/tensor_maps.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "base/status.hpp"

namespace fuseplan {
namespace {

using namespace cuda;

/// A module for as long as its kernels may be launched.
class LoadedModule {
 public:
  LoadedModule(const Device& device, const Binary& image) : device_(device) {
    const CurrentContext current(device_);
    driver().check(driver().module_load(&module_, image.data()), "cuModuleLoadData");
  }
  /// Plans may go while their kernels are queued on any stream, and nothing says that unloading
  /// waits for them. During a capture, which forbids waiting, the module stays.
  ~LoadedModule() {
    try {
      const CurrentContext current(device_);
      const Result waited = driver().context_synchronize();
      if (!is_of_capture(waited)) driver().check(driver().module_unload(module_), "cuModuleUnload");
      driver().check(waited, "cuCtxSynchronize");
    } catch (const Error& error) {
      log(LogLevel::warning, "cuda", "{}", error.what());
    }
  }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  /// Lazy loading does its work here and not in the first launch, which may be inside a capture;
  /// drivers that cannot be told to load are asked for an attribute.
  FunctionHandle function(const std::string& name, unsigned shared_bytes) const {
    const CurrentContext current(device_);
    FunctionHandle function = nullptr;
    driver().check(driver().module_function(&function, module_, name.c_str()),
                   "cuModuleGetFunction");
    if (driver().function_load != nullptr) {
      driver().check(driver().function_load(function), "cuFuncLoad");
    } else {
      int local_bytes = 0;
      driver().check(driver().function_attribute(&local_bytes, kLocalBytes, function),
                     "cuFuncGetAttribute");
    }
    if (shared_bytes > gpu::Program::kFreelyShared)
      driver().check(driver().function_set_attribute(function, kMaxSharedBytes,
                                                     static_cast<int>(shared_bytes)),
                     "cuFuncSetAttribute");
    return function;
  }

 private:
  const Device& device_;
  Module module_ = nullptr;
};

class CudaExecutable final : public Executable {
 public:
  CudaExecutable(const Device& device, const Kernel& kernel, const Binary& image)
      : device_(device), module_(device, image), program_(kernel.gpu->bind()) {
    require_clusters(program_->most_cluster());
    for (const std::string& entry : kernel.gpu->entries())
      functions_.push_back(module_.function(entry, program_->most_shared_bytes()));
  }

  /// Allocates, loads and synchronises nothing: legal while the stream is captured.
  void launch(const Launch& launch) const override {
    Scratch scratch;
    const std::span<const gpu::Call> calls =
        program_->calls({launch.input, launch.output, launch.weights, launch.channels,
                         launch.elements, launch.scalars, launch.results, launch.parallel},
                        scratch);
    const CurrentContext current(device_);
    const Stream stream = checked_stream(device_, launch.stream);
    for (const gpu::Call& call : calls) {
      encode_tensor_maps(call);
      const auto most = static_cast<unsigned>(device_.multiprocessors());
      const unsigned grid = call.blocks_stay ? std::min(call.grid, most) : call.grid;
      enqueue(functions_[call.entry], call, grid, stream);
    }
  }
  std::size_t prepared_bytes() const override { return 0; }
  std::string weight_format() const override { return "raw"; }
  void prepare(const void*, void*, const Parallel&) const override {}

 private:
  const Device& device_;
  LoadedModule module_;
  std::vector<FunctionHandle> functions_;
  std::unique_ptr<gpu::Program> program_;
};

class CudaBackend final : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  int device_count() const override { return find_driver() == nullptr ? 0 : driver().devices; }
  std::string why_no_device() const override { return driver_problem(); }
  Traits traits(int index) const override {
    return {.backend = "cuda", .family = device(index).arch(), .arch = device(index).arch()};
  }
  std::string device_name(int index) const override { return device(index).name(); }
  /// Without NVRTC's version: a kernel that any of them compiled is right, and a warm cache needs
  /// none of them. The source, which holds the whole dialect, is in the key; who compiled it is
  /// noted behind the image.
  std::string toolchain_id() const override {
    return fmt::format("nvrtc;{}", fmt::join(compile_options(), " "));
  }

  Binary compile(const Kernel& kernel, const Traits& traits) const override {
    Binary image = compile_source(kernel.gpu->source(), traits.arch).image;
    append_compiler(image, *loaded_compiler());
    return image;
  }
  bool is_current(const Binary& binary) const override {
    const auto now = loaded_compiler();
    return !now || !is_older(compiler_of(binary), *now);
  }
  std::shared_ptr<const Executable> load(const Kernel& kernel, const Binary& binary, int index,
                                         const JitListeners&) const override {
    return std::make_shared<CudaExecutable>(device(index), kernel, binary);
  }

  void* allocate(int index, std::size_t bytes) const override {
    const CurrentContext current(device(index));
    DevicePointer pointer = 0;
    driver().check(driver().memory_allocate(&pointer, bytes), "cuMemAlloc");
    return reinterpret_cast<void*>(pointer);
  }
  void free(int index, void* memory) const override {
    const CurrentContext current(device(index));
    driver().check(driver().memory_free(address(memory)), "cuMemFree");
  }
  void copy(int index, void* to, const void* from, std::size_t bytes, Direction direction,
            void* stream) const override {
    const CurrentContext current(device(index));
    const Stream queue = checked_stream(device(index), stream);
    switch (direction) {
      case Direction::to_device:
        driver().check(driver().copy_to_device(address(to), from, bytes, queue),
                       "cuMemcpyHtoDAsync");
        break;
      case Direction::to_host:
        driver().check(driver().copy_to_host(to, address(from), bytes, queue), "cuMemcpyDtoHAsync");
        break;
      case Direction::on_device:
        driver().check(driver().copy_on_device(address(to), address(from), bytes, queue),
                       "cuMemcpyDtoDAsync");
        break;
    }
    driver().check(driver().stream_synchronize(queue), "cuStreamSynchronize");
  }
  void synchronize(int index, void* stream) const override {
    const CurrentContext current(device(index));
    driver().check(driver().stream_synchronize(checked_stream(device(index), stream)),
                   "cuStreamSynchronize");
  }

 private:
  static DevicePointer address(const void* memory) {
    return reinterpret_cast<DevicePointer>(memory);
  }
};

}  // namespace

const Backend& backend_cuda() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace fuseplan
