// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/jit_symbols.hpp"
#include "base/parallel.hpp"
#include "solve/solver.hpp"

namespace fuseplan {

/// A compiled kernel as it is stored: an ELF object (CPU) or a device image.
using Binary = std::vector<std::byte>;

/// One launch with every pointer resolved. On a GPU the pointers are device pointers and the work
/// is queued on `stream`; on the CPU launch() returns when the output is written.
struct Launch {
  const void* input = nullptr;
  void* output = nullptr;
  const void* weights = nullptr;          ///< in the executable's prepared form, if it has one
  std::span<const void* const> channels;  ///< by SplitChain::channels_in index
  std::span<const void* const> elements;  ///< by SplitChain::elements index
  std::span<const double> scalars;        ///< by SplitChain::scalars index
  std::span<void* const> results;         ///< by SplitChain::results index; null: not wanted
  const Parallel& parallel;
  void* stream = nullptr;
  bool weights_are_raw = false;  ///< the plan's tensor instead; see Executable::takes_raw_weights()
};

/// A kernel loaded on a device. Immutable: many threads may launch it at once.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual void launch(const Launch& launch) const = 0;
  /// Bytes of the prepared weights, 0 if it takes none. Executables with equal format share them.
  virtual std::size_t prepared_bytes() const = 0;
  virtual std::string weight_format() const = 0;
  virtual void prepare(const void* raw, void* prepared, const Parallel& parallel) const = 0;
  /// launch() can prepare weights itself, with the same result, and faster if it is only for once.
  virtual bool takes_raw_weights() const { return false; }
};

/// A kind of device. compile() needs traits and no device, so kernels for absent devices can be
/// compiled and tested; load() needs the device.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  ///< "cpu": what a device string starts with
  virtual int device_count() const = 0;
  /// If device_count() is 0: what is missing.
  virtual std::string why_no_device() const { return {}; }
  virtual Traits traits(int device) const = 0;
  virtual std::string device_name(int device) const = 0;
  /// Everything of the code generator and its host that can change a binary.
  virtual std::string toolchain_id() const = 0;

  virtual Binary compile(const Kernel& kernel, const Traits& traits) const = 0;
  /// False for a binary of an older compiler than the one this process has loaded. Loads none.
  virtual bool is_current(const Binary&) const { return true; }
  /// Throws Error(InternalError) if `binary` is not what `kernel` compiles to.
  virtual std::shared_ptr<const Executable> load(const Kernel& kernel, const Binary& binary,
                                                 int device,
                                                 const JitListeners& listeners) const = 0;

  virtual void* allocate(int device, std::size_t bytes) const = 0;
  virtual void free(int device, void* memory) const = 0;
  enum class Direction { to_device, to_host, on_device };
  virtual void copy(int device, void* to, const void* from, std::size_t bytes, Direction direction,
                    void* stream) const = 0;
  virtual void synchronize(int device, void* stream) const = 0;
};

/// Rows of backends.def.
std::span<const Backend* const> all_backends();

/// "cpu", "cuda:0": a backend and a device number. Empty text is the CPU.
struct DeviceId {
  const Backend* backend;
  int index;
};
/// Throws Error(InvalidValue) for text that names no backend of this build, Error(NotInitialized)
/// for a device that is not there; the message lists those that are.
DeviceId find_device(std::string_view text);

}  // namespace fuseplan
