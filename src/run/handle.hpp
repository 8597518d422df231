// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "cache/store.hpp"
#include "run/options.hpp"
#include "run/variant.hpp"

namespace fuseplan {

/// A device with the settings of one client. One thread at a time may change it; many may compile
/// and execute on it. Plans keep no reference to it: they remember its number, which is never
/// given to another handle.
class Handle {
 public:
  explicit Handle(std::string_view device, void* stream = nullptr);

  std::uint64_t number() const { return number_; }
  /// Ends with the handle, for those who keep something by its number.
  std::weak_ptr<const void> life() const { return life_; }
  const Backend& backend() const { return *device_.backend; }
  int device() const { return device_.index; }
  std::string device_text() const;
  /// The device's traits, capped by max_isa.
  Traits traits() const;

  const Options& options() const { return options_; }
  void set_options(std::string_view flags);
  KernelStore& store() const { return *store_; }
  CompileContext compile_context(SolverFilter filter) const;

  void* stream() const { return stream_; }
  void set_stream(void* stream) { stream_ = stream; }
  int threads() const { return parallel_.threads(); }
  void set_threads(int threads);
  /// `loop` nullptr: OpenMP again.
  void set_parallel_for(Parallel::Loop loop, void* context);
  const Parallel& parallel() const { return parallel_; }
  const Allocator& allocator() const { return allocator_; }
  void set_allocator(const Allocator& allocator) { allocator_ = allocator; }

  void set_profiling(bool on) { profiling_ = on; }
  bool profiling() const { return profiling_; }
  float kernel_ms() const { return kernel_ms_.load(std::memory_order_relaxed); }
  void record_kernel_ms(float ms) { kernel_ms_.store(ms, std::memory_order_relaxed); }

  /// Throws Error(Forked) in a child of the process that made this handle, if it is on a GPU.
  void check_process() const;

 private:
  void apply_options();

  DeviceId device_;
  void* stream_;
  Options options_;
  std::shared_ptr<KernelStore> store_;
  Parallel::Loop loop_ = nullptr;
  void* loop_context_ = nullptr;
  Parallel parallel_{1};
  Allocator allocator_;
  bool profiling_ = false;
  std::atomic<float> kernel_ms_{0};
  std::uint64_t number_;
  std::shared_ptr<const void> life_ = std::make_shared<char>();
  int process_;
};

}  // namespace fuseplan
