// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/strip_finisher.hpp"

#include <algorithm>
#include <cstddef>

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

constexpr int kMostSums = 16;  ///< at a time: they leave half of the registers
constexpr int kMostPixels = 8, kMostVectors = 4;

class StripCode {
 public:
  StripCode(const StripSpec& spec, const FinishSpec& finish)
      : spec_(spec),
        code_(Isa::avx512),
        pointers_(code_, finish, kPointers),
        storage_(code_, {rdx, rax, rcx}, finish.bf16),
        strip_(code_, spec, finish, kSums, pointers_, storage_) {}

  std::vector<std::byte> emit() {
    code_.enter();
    const auto field = [](std::size_t offset) { return ptr[rdi + static_cast<int>(offset)]; };
    code_.mov(rcx, field(offsetof(StripCall, chain)));
    pointers_.read(rcx);
    code_.mov(kSums, field(offsetof(StripCall, sums)));
    code_.mov(kPixels, field(offsetof(StripCall, pixels)));
    if (spec_.last_lanes < code_.lanes()) {
      code_.mov(ecx, spec_.last_lanes);
      storage_.begin_partial(rcx, spec_.last_lanes);
    }
    turns(StripEmitter::most_pixels(spec_));
    turns(1);
    code_.leave();
    return code_.finish();
  }

 private:
  void turns(int pixels) {
    Xbyak::Label next, done;
    code_.sub(kPixels, pixels);
    code_.jl(done);
    code_.align(32);
    code_.L(next);
    strip_.finish(pixels);
    strip_.move_sums(pixels);
    strip_.move_pointers(pixels);
    code_.sub(kPixels, pixels);
    code_.jge(next);
    code_.L(done);
    code_.add(kPixels, pixels);
  }

  static inline const Xbyak::Reg64 kSums = rsi, kPixels = rdi;
  static inline const Xbyak::Reg64 kPointers[] = {r8, r9, r10, r11, rbx, r12, r13, r14, r15};
  const StripSpec& spec_;
  VectorCode code_;
  ChainPointers pointers_;
  Storage storage_;
  StripEmitter strip_;
};

}  // namespace

int StripEmitter::most_pixels(const StripSpec& spec) {
  return std::min(kMostPixels, kMostSums / spec.vectors);
}

/// How many vectors before it `vector` is stored together with.
int StripEmitter::part_of_line(int vector) const {
  const int whole = spec_.vectors - (spec_.last_lanes < code_.lanes() ? 1 : 0);
  const auto bytes = static_cast<int>(size_of(finish_.output.dtype));
  const int together = bytes == 4 ? 1 : bytes == 1 && whole == 4 ? 4 : 2;
  return vector < whole / together * together ? vector % together : 0;
}

void StripEmitter::finish(int pixels) {
  std::vector<TileSum> sums;
  for (int v = 0; v < spec_.vectors; ++v)
    for (int p = 0; p < pixels; ++p) {
      const int reg = code_.vectors().take();
      code_.vmovups(code_.vec(reg), ptr[sums_ + (p * spec_.vectors + v) * code_.bytes()]);
      const bool partial = v + 1 == spec_.vectors && spec_.last_lanes < code_.lanes();
      sums.push_back({reg,
                      {v * code_.lanes(), 0, p},
                      partial,
                      part_of_line(v) > 0 ? (v - 1) * pixels + p : -1});
    }
  finisher_.finish(sums);
  for (const TileSum& sum : sums) code_.vectors().give(sum.reg);
}

void StripEmitter::move_sums(int pixels) {
  code_.add(sums_, pixels * spec_.vectors * code_.bytes());
}

void StripEmitter::move_pointers(int pixels) { pointers_.move({0, 0, pixels}); }

bool strip_finisher_takes(const FinishSpec& finish) {
  constexpr int kLanes = lanes_of(Isa::avx512);
  return finish.lanes_are_channels && is_applied_in_registers(finish.body) &&
         finish.reaches({kMostVectors * kLanes, 0, kMostPixels});
}

std::vector<std::byte> emit_strip_finisher(const StripSpec& spec, const FinishSpec& finish) {
  return StripCode(spec, finish).emit();
}

}  // namespace fuseplan::cpu
