// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "backend/code_memory.hpp"
#include "base/denormals.hpp"
#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/rows.hpp"

namespace fuseplan::test {

/// A rows kernel, ready to be called.
class RowsKernel {
 public:
  explicit RowsKernel(const cpu::RowsSpec& spec) : code_(cpu::emit_rows(spec)) {}
  void operator()(const cpu::RowsCall& call) const {
    const FlushDenormals flush;
    reinterpret_cast<void (*)(const cpu::RowsCall*)>(
        reinterpret_cast<std::uintptr_t>(code_.data()))(&call);
  }

 private:
  CodeMemory code_;
};

/// The instruction sets of this machine that code is generated for.
inline std::vector<cpu::Isa> vector_isas() {
  std::vector<cpu::Isa> isas;
  for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::avx512})
    if (isa <= cpu::host_isa()) isas.push_back(isa);
  return isas;
}

/// The same, and the widest again with everything beyond it that the machine has, preferred.
inline std::vector<cpu::Target> vector_targets() {
  std::vector<cpu::Target> targets;
  for (const cpu::Isa isa : vector_isas()) targets.emplace_back(isa);
  if (cpu::host_extensions().bf16)
    targets.emplace_back(cpu::Isa::avx512, cpu::Extensions{.bf16 = true, .fast_bf16 = true});
  return targets;
}
inline std::string name_of(const cpu::Target& target) {
  return std::string(cpu::name_of(target.isa)) + (target.extensions.bf16 ? "_bf16" : "");
}

}  // namespace fuseplan::test
