// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/memory.hpp"
#include "kernels/cpu/program.hpp"
#include "kernels/gpu/tensor_map.hpp"

namespace fuseplan::gpu {

/// One launch as a device's queue takes it. `arguments` is the kernel's only parameter, a struct.
struct Call {
  std::size_t entry = 0;  ///< by Recipe::entries index
  unsigned grid = 1, block = 1, shared_bytes = 0;
  std::span<const std::byte> arguments;
  std::span<const TensorMap> maps = {};  ///< of `arguments`, to be encoded before the launch
  /// Blocks take pieces of work in turn: no more are launched than can run at once, one on each
  /// multiprocessor.
  bool blocks_stay = false;
  /// Blocks of which each run of so many is a cluster: they run at once, wait for each other and
  /// read each other's shared memory. The grid is a multiple of it.
  unsigned cluster = 1;
};

/// A kernel of one geometry, ready to be launched. Immutable; call() may be used from many threads.
class Program {
 public:
  virtual ~Program() = default;
  /// The call's arguments lie in `scratch`. All pointers in `arguments` are device pointers.
  virtual Call call(const cpu::Arguments& arguments, Scratch& scratch) const = 0;
  /// The most shared memory a call takes, where that is more than kFreelyShared.
  virtual unsigned most_shared_bytes() const { return 0; }
  /// The largest cluster of a call.
  virtual unsigned most_cluster() const { return 1; }
  static constexpr unsigned kFreelyShared = 48 << 10;  ///< bytes every launch may have
  /// All launches of one execution, in their order; by default the one of call(). What one leaves
  /// for the next lies in memory that the execution writes anyway: programs own none, so that two
  /// executions share nothing, on whatever streams they or their graphs run.
  virtual std::span<const Call> calls(const cpu::Arguments& arguments, Scratch& scratch) const {
    return {new (scratch.take_array<Call>(1)) Call(call(arguments, scratch)), 1};
  }
};

/// How to make a kernel: a pure function of problem, chain and configuration. Batch, height, width
/// and strides are in the program and, but for what they allow to load or store together, not in
/// the source, so that one binary serves many sizes.
class Recipe {
 public:
  virtual ~Recipe() = default;
  /// All that a device compiler needs, in the dialect of kernels/gpu/dialect, without includes.
  virtual std::string source() const = 0;
  virtual std::vector<std::string> entries() const = 0;
  virtual std::unique_ptr<Program> bind() const = 0;
};

}  // namespace fuseplan::gpu
