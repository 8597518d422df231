// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backend/backend.hpp"
#include "backend/code_memory.hpp"
#include "backend/elf_object.hpp"
#include "base/status.hpp"

namespace fuseplan {
namespace {

/// Counts every change of the code generators that is not visible in a key otherwise.
constexpr int kCodegenVersion = 1;

class CpuExecutable final : public Executable {
 public:
  CpuExecutable(const Kernel& kernel, const Binary& binary, const ElfCode& elf,
                const JitListeners& listeners)
      : code_(elf.text), symbols_(listeners, binary, elf, code_.data()) {
    std::vector<const void*> entries;
    for (const ElfCode::Symbol& symbol : elf.symbols)
      entries.push_back(code_.data() + symbol.offset);
    program_ = kernel.cpu->bind(entries);
  }

  void launch(const Launch& launch) const override {
    program_->run({launch.input, launch.output, launch.weights, launch.channels, launch.elements,
                   launch.scalars, launch.results, launch.parallel, launch.weights_are_raw});
  }
  std::size_t prepared_bytes() const override { return program_->prepared_bytes(); }
  std::string weight_format() const override { return program_->weight_format(); }
  void prepare(const void* raw, void* prepared, const Parallel& parallel) const override {
    program_->prepare(raw, prepared, parallel);
  }
  bool takes_raw_weights() const override { return program_->takes_raw_weights(); }

 private:
  CodeMemory code_;
  JitSymbols symbols_;
  std::unique_ptr<cpu::Program> program_;
};

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  int device_count() const override { return 1; }
  Traits traits(int) const override {
    return {.backend = "cpu",
            .isa = cpu::host_isa(),
            .extensions = cpu::host_extensions(),
            .family = std::string(cpu::host_family())};
  }
  std::string device_name(int) const override {
    static const std::string name = cpu::host_name();
    return name.empty() ? "CPU" : name;
  }
  std::string toolchain_id() const override {
    return fmt::format("xbyak;codegen={};abi=sysv-x86_64;page={}", kCodegenVersion,
                       sysconf(_SC_PAGESIZE));
  }

  Binary compile(const Kernel& kernel, const Traits&) const override {
    return write_elf(kernel.cpu->emit());
  }

  std::shared_ptr<const Executable> load(const Kernel& kernel, const Binary& binary, int,
                                         const JitListeners& listeners) const override {
    return std::make_shared<CpuExecutable>(kernel, binary, read_elf(binary), listeners);
  }

  void* allocate(int, std::size_t bytes) const override {
    constexpr std::size_t kAlignment = 64;
    void* memory =
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    require(memory != nullptr, Status::AllocFailed, "cannot allocate {} bytes", bytes);
    return memory;
  }
  void free(int, void* memory) const override { std::free(memory); }
  void copy(int, void* to, const void* from, std::size_t bytes, Direction, void*) const override {
    std::memcpy(to, from, bytes);
  }
  void synchronize(int, void*) const override {}
};

}  // namespace

const Backend& backend_cpu() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace fuseplan
