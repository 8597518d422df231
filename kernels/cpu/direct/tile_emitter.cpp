// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/tile_emitter.hpp"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/memory.hpp"
#include "base/status.hpp"

namespace fuseplan::cpu {
namespace {

/// System V: rdi holds the call. The loops, outermost first: planes, rows, channels, taps.
template <typename Vec>
class TileCode : public Xbyak::CodeGenerator {
 public:
  TileCode(const TileSpec& spec, const Buffer& buffer)
      : CodeGenerator(buffer.bytes(), buffer.data()), spec_(spec) {
    zero_or_load();
    planes();
    store();
    vzeroupper();
    ret();
  }

 private:
  static constexpr int kBytes = std::is_same_v<Vec, Xbyak::Zmm> ? 64 : 32;

  Vec sum(int pixel, int vector) const { return Vec(pixel * spec_.vectors + vector); }
  Vec weight(int vector) const { return Vec(spec_.pixels * spec_.vectors + vector); }
  Vec broadcast() const { return Vec((spec_.pixels + 1) * spec_.vectors); }
  Xbyak::Address field(std::size_t offset) const { return ptr[rdi + static_cast<int>(offset)]; }
  int tap_bytes() const { return spec_.vectors * kBytes; }

  void zero_or_load() {
    Xbyak::Label load, ready;
    mov(rsi, field(offsetof(TileCall, result)));
    mov(r8, field(offsetof(TileCall, input)));
    mov(r9, field(offsetof(TileCall, weights)));
    cmp(qword[rdi + static_cast<int>(offsetof(TileCall, accumulate))], 0);
    jne(load, T_NEAR);
    for (int i = 0; i < spec_.pixels * spec_.vectors; ++i) vxorps(Vec(i), Vec(i), Vec(i));
    jmp(ready, T_NEAR);
    L(load);
    for (int i = 0; i < spec_.pixels * spec_.vectors; ++i) vmovups(Vec(i), ptr[rsi + i * kBytes]);
    L(ready);
  }

  void store() {
    for (int i = 0; i < spec_.pixels * spec_.vectors; ++i) vmovups(ptr[rsi + i * kBytes], Vec(i));
  }

  void planes() {
    Xbyak::Label plane, row, done;
    mov(r10, field(offsetof(TileCall, planes)));
    test(r10, r10);
    jz(done, T_NEAR);
    L(plane);
    mov(r11, r8);
    mov(rcx, field(offsetof(TileCall, rows)));
    L(row);
    mov(rax, r11);
    channels();
    add(r11, static_cast<int>(spec_.steps.row));
    dec(rcx);
    jnz(row, T_NEAR);
    add(r9, field(offsetof(TileCall, weight_skip)));
    add(r8, static_cast<int>(spec_.steps.plane));
    dec(r10);
    jnz(plane, T_NEAR);
    L(done);
  }

  // Several channels per turn where one is too little work to hide the loop behind.
  int unroll() const {
    if (spec_.tap_loop) return 1;
    constexpr std::int64_t kProductsPerTurn = 64;
    const auto products = std::max<std::int64_t>(1, tile_products(spec_));
    const auto turn = static_cast<std::uint64_t>((kProductsPerTurn + products - 1) / products);
    return static_cast<int>(std::min<std::uint64_t>(std::bit_ceil(turn), 8));
  }

  void channels() {
    const int turn = unroll();
    Xbyak::Label many, rest, one, done;
    mov(rdx, field(offsetof(TileCall, channels)));
    if (turn > 1) {
      sub(rdx, turn);
      jl(rest, T_NEAR);
      align(32);
      L(many);
      for (int i = 0; i < turn; ++i) taps(i);
      advance(turn);
      sub(rdx, turn);
      jge(many, T_NEAR);
      L(rest);
      add(rdx, turn);
      jz(done, T_NEAR);
    } else {
      align(32);
    }
    L(one);
    if (spec_.tap_loop) {
      looped_taps();
    } else {
      taps(0);
      advance(1);
    }
    dec(rdx);
    jnz(one, T_NEAR);
    L(done);
  }

  void advance(int count) {
    add(rax, static_cast<int>(count * spec_.steps.channel));
    add(r9, static_cast<int>(count * spec_.taps * tap_bytes()));
  }

  void taps(int channel) {
    for (std::int64_t tap = 0; tap < spec_.taps; ++tap)
      products(rax, channel * spec_.steps.channel + tap * spec_.steps.tap,
               (channel * spec_.taps + tap) * tap_bytes(), tap);
  }

  void looped_taps() {
    Xbyak::Label next;
    push(rax);
    push(rsi);
    mov(rsi, field(offsetof(TileCall, taps)));
    L(next);
    products(rax, 0, 0, 0);
    add(rax, static_cast<int>(spec_.steps.tap));
    add(r9, tap_bytes());
    dec(rsi);
    jnz(next, T_NEAR);
    pop(rsi);
    pop(rax);
    add(rax, static_cast<int>(spec_.steps.channel));
    add(r9, field(offsetof(TileCall, tap_skip)));
  }

  void products(const Xbyak::Reg64& input, std::int64_t offset, std::int64_t weights,
                std::int64_t tap) {
    bool loaded = false;
    for (int pixel = 0; pixel < spec_.pixels; ++pixel) {
      if (!spec_.tap_loop && !spec_.inside(pixel, tap)) continue;
      if (!loaded) {
        for (int vector = 0; vector < spec_.vectors; ++vector)
          vmovups(weight(vector), ptr[r9 + static_cast<int>(weights + vector * kBytes)]);
        loaded = true;
      }
      const Xbyak::RegExp at = input + static_cast<int>(offset + pixel * spec_.steps.pixel);
      if (spec_.vectors == 1 && kBytes == 64) {
        vfmadd231ps(sum(pixel, 0), weight(0), ptr_b[at]);
        continue;
      }
      vbroadcastss(broadcast(), dword[at]);
      for (int vector = 0; vector < spec_.vectors; ++vector)
        vfmadd231ps(sum(pixel, vector), broadcast(), weight(vector));
    }
  }

  const TileSpec& spec_;
};

template <typename Vec>
std::vector<std::byte> emit_with(const TileSpec& spec) {
  // No instruction is longer than 15 bytes; the body is repeated for at most 9 channels.
  const std::int64_t per_channel = tile_products(spec) * 2 + spec.taps * spec.vectors;
  // Alignment inside the code is relative to a buffer that is itself aligned.
  const Buffer buffer(
      static_cast<std::size_t>(4096 + per_channel * 15 * 9 + spec.pixels * spec.vectors * 45));
  const TileCode<Vec> code(spec, buffer);
  std::vector<std::byte> bytes(code.getSize());
  std::memcpy(bytes.data(), code.getCode(), bytes.size());
  return bytes;
}

}  // namespace

bool tile_fits(Isa isa, int pixels, int vectors) {
  const int registers = isa == Isa::avx512 ? 32 : 16;
  const bool embedded = isa == Isa::avx512 && vectors == 1;
  return pixels > 0 && vectors > 0 && (pixels + 1) * vectors + (embedded ? 0 : 1) <= registers;
}

std::int64_t tile_products(const TileSpec& spec) {
  if (spec.tap_loop) return static_cast<std::int64_t>(spec.pixels) * spec.vectors;
  std::int64_t products = 0;
  for (int pixel = 0; pixel < spec.pixels; ++pixel)
    for (std::int64_t tap = 0; tap < spec.taps; ++tap) products += spec.inside(pixel, tap);
  return products * spec.vectors;
}

std::vector<std::byte> emit_tile(const TileSpec& spec) {
  require(spec.isa != Isa::portable && tile_fits(spec.isa, spec.pixels, spec.vectors),
          Status::InternalError, "a tile of {} pixels x {} vectors does not fit the registers",
          spec.pixels, spec.vectors);
  return spec.isa == Isa::avx512 ? emit_with<Xbyak::Zmm>(spec) : emit_with<Xbyak::Ymm>(spec);
}

}  // namespace fuseplan::cpu
