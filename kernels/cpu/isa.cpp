// SPDX-License-Identifier: MIT
#include "kernels/cpu/isa.hpp"

#if defined(__x86_64__)
#include <xbyak/xbyak_util.h>
#endif

namespace fuseplan::cpu {
namespace {

constexpr const char* kNames[] = {"portable", "avx2", "avx512"};

Isa detect() {
#if defined(__x86_64__)
  using Xbyak::util::Cpu;
  const Cpu cpu;
  if (!(cpu.has(Cpu::tAVX2) && cpu.has(Cpu::tFMA) && cpu.has(Cpu::tF16C))) return Isa::portable;
  const bool wide = cpu.has(Cpu::tAVX512F) && cpu.has(Cpu::tAVX512BW) && cpu.has(Cpu::tAVX512DQ) &&
                    cpu.has(Cpu::tAVX512VL);
  return wide ? Isa::avx512 : Isa::avx2;
#else
  return Isa::portable;
#endif
}

}  // namespace

const char* name_of(Isa isa) { return kNames[static_cast<int>(isa)]; }

std::optional<Isa> parse_isa(std::string_view name) {
  for (int i = 0; i < 3; ++i)
    if (name == kNames[i]) return static_cast<Isa>(i);
  return std::nullopt;
}

Isa host_isa() {
  static const Isa isa = detect();
  return isa;
}

}  // namespace fuseplan::cpu
