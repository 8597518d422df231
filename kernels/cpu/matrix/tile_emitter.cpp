// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/tile_emitter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>

#include "kernels/cpu/emit/strip_finisher.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

// Tiles 0 to 3 are sums, by pixels and then channels; 4 and 5 input; 6 and 7 weights.
Xbyak::Tmm sums_tile(int tile, int vector) { return Xbyak::Tmm(tile * kTilesAcross + vector); }
Xbyak::Tmm input_tile(int tile) { return Xbyak::Tmm(4 + tile); }
Xbyak::Tmm weights_tile(int vector) { return Xbyak::Tmm(6 + vector); }

/// Where a kernel keeps the sums of one tile, [pixel][channel].
Xbyak::Address stored_sums(const VectorCode& code, const Xbyak::RegExp& sums, int tile, int vector,
                           int vectors) {
  return code.ptr[sums + (tile * kTileRows * vectors + vector) * kTileBytes];
}

class MatrixTileCode {
 public:
  MatrixTileCode(const MatrixTileSpec& spec, const FinishSpec& finish)
      : spec_(spec), code_(Isa::avx512) {
    if (spec.finishes) strip_.emplace(code_, finish);
  }

  std::vector<std::byte> emit() {
    code_.enter();
    read_call();
    std::int64_t steps = spec_.steps;
    if (strip_)
      steps -= finish_meanwhile();
    else
      each_sum([&](int t, int v) { code_.tilezero(sums_tile(t, v)); });
    code_.vpxor(xmm0, xmm0, xmm0);
    constexpr std::int64_t kUnrolled = 4;
    const std::int64_t turns = steps > kUnrolled ? steps / kUnrolled : 0;
    if (turns > 0) repeat(turns, [&] { sum_awake(kUnrolled); });
    sum_awake(static_cast<int>(steps - turns * kUnrolled));
    if (!spec_.leaves) store();
    code_.leave();
    return code_.finish();
  }

 private:
  /// The code that finishes a strip, with pointers in what the products leave over.
  struct Strip {
    Strip(VectorCode& code, const FinishSpec& finish)
        : pointers(code, finish, kPointers),
          storage(code, {rax, rax, rax}, finish.bf16),
          emitter(code, spec, finish, kSums, pointers, storage) {}
    StripSpec spec{kTilesAcross, kTileLanes};
    ChainPointers pointers;
    Storage storage;
    StripEmitter emitter;
  };

  template <typename F>
  void repeat(std::int64_t turns, const F& f) {
    Xbyak::Label next;
    code_.mov(ecx, static_cast<std::uint32_t>(turns));
    code_.align(32);
    code_.L(next);
    f();
    code_.dec(ecx);
    code_.jnz(next);
  }

  /// Returns the steps that were summed in the meantime.
  std::int64_t finish_meanwhile() {
    constexpr std::int64_t kMostSteps = 8;
    constexpr int kMostPixels = 8;
    const auto steps = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::min(spec_.steps, kMostSteps))));
    const int pixels = kWholeStrip / static_cast<int>(steps);
    const auto finish = [&] {
      for (int done = 0; done < pixels; done += kMostPixels) {
        strip_->emitter.finish(std::min(pixels, kMostPixels));
        strip_->emitter.move(std::min(pixels, kMostPixels));
      }
    };
    store_and_sum();
    finish();
    if (steps == 1) return steps;
    repeat(steps - 1, [&] {
      sum_steps(1);
      finish();
    });
    return steps;
  }

  void read_call() {
    const auto field = [](std::size_t offset) { return ptr[rdi + static_cast<int>(offset)]; };
    code_.mov(kBase, field(offsetof(MatrixTileCall, input)));
    code_.mov(kSecond, field(offsetof(MatrixTileCall, second)));
    code_.mov(kWeights, field(offsetof(MatrixTileCall, weights)));
    code_.mov(kNext, field(offsetof(MatrixTileCall, next)));
    code_.mov(kSteps, field(offsetof(MatrixTileCall, steps)));
    if (strip_) {
      code_.mov(rcx, field(offsetof(MatrixTileCall, chain)));
      strip_->pointers.read(rcx);
    }
    code_.mov(kSums, field(offsetof(MatrixTileCall, sums)));
    code_.mov(kPixelBytes, static_cast<std::uint64_t>(spec_.pixel_bytes));
    code_.mov(kRowBytes.cvt32(), kTileBytes);
  }

  template <typename F>
  void each_sum(const F& f) {
    for (int t = 0; t < spec_.tiles; ++t)
      for (int v = 0; v < spec_.vectors; ++v) f(t, v);
  }

  int weight_bytes() const { return spec_.depth_bytes / 4 * kTileBytes; }
  int step_bytes() const { return spec_.vectors * weight_bytes(); }

  void sum_steps(int steps) {
    sum_steps(steps, [](int, int) {});
  }

  /// The first step, whose products wait for no store but that of their own tile.
  void store_and_sum() {
    code_.mov(kStoredRow.cvt32(), spec_.vectors * kTileBytes);
    sum_steps(1, [&](int t, int v) {
      store(t, v);
      code_.tilezero(sums_tile(t, v));
    });
  }

  template <typename F>
  void sum_steps(int steps, const F& before_product) {
    for (int step = 0; step < steps; ++step) {
      sum_step(step, before_product);
      for (int i = 0; i < spec_.next_lines; ++i)
        code_.prefetcht1(ptr[kNext + (step * spec_.next_lines + i) * kTileBytes]);
    }
    code_.add(kSteps, 8 * steps);
    code_.add(kWeights, steps * step_bytes());
    if (spec_.next_lines > 0) code_.add(kNext, steps * spec_.next_lines * kTileBytes);
  }

  void sum_awake(int steps) {
    sum_steps(steps);
    stay_awake();
  }

  /// Without work for half a microsecond, the unit for 512-bit products falls asleep, and then
  /// keeps the first store of sums waiting for a quarter of one (seen on Emerald Rapids). Additions
  /// do not keep it awake.
  void stay_awake() { code_.vmulps(zmm0, zmm0, zmm0); }

  template <typename F>
  void sum_step(int step, const F& before_product) {
    code_.mov(kInput[0], ptr[kSteps + 8 * step]);
    code_.add(kInput[0], kBase);
    if (spec_.tiles > 1) code_.lea(kInput[1], ptr[kInput[0] + kSecond]);
    for (int t = 0; t < spec_.tiles; ++t) {
      load(input_tile(t), ptr[kInput[t] + kPixelBytes], spec_.far == Far::input);
      for (int v = 0; v < spec_.vectors; ++v) {
        const int at = (step * spec_.vectors + v) * weight_bytes();
        if (t == 0)
          load(weights_tile(v), ptr[kWeights + kRowBytes + at], spec_.far == Far::weights);
        before_product(t, v);
        multiply(sums_tile(t, v), input_tile(t), weights_tile(v));
      }
    }
  }

  void load(const Xbyak::Tmm& tile, const Xbyak::Address& from, bool is_far) {
    is_far ? code_.tileloaddt1(tile, from) : code_.tileloadd(tile, from);
  }

  void multiply(const Xbyak::Tmm& sum, const Xbyak::Tmm& input, const Xbyak::Tmm& weights) {
    switch (spec_.product) {
      case Product::bf16:
        return code_.tdpbf16ps(sum, input, weights);
      case Product::unsigned_bytes:
        return code_.tdpbusd(sum, input, weights);
      case Product::signed_bytes:
        return code_.tdpbssd(sum, input, weights);
    }
  }

  void store() {
    code_.mov(kStoredRow.cvt32(), spec_.vectors * kTileBytes);
    each_sum([&](int t, int v) { store(t, v); });
  }

  void store(int tile, int vector) {
    code_.tilestored(stored_sums(code_, kSums + kStoredRow, tile, vector, spec_.vectors),
                     sums_tile(tile, vector));
  }

  static inline const Xbyak::Reg64 kBase = rsi, kWeights = rdx, kPixelBytes = r8, kRowBytes = r9,
                                   kSecond = r10, kSteps = r11, kSums = rdi, kNext = r13,
                                   kStoredRow = rax;
  static inline const Xbyak::Reg64 kInput[] = {rbx, r12}, kPointers[] = {r14, r15};
  const MatrixTileSpec& spec_;
  VectorCode code_;
  std::optional<Strip> strip_;
};

// The operand of ldtilecfg: palette, then bytes of a row and rows of each tile.
std::array<std::uint8_t, 64> tile_shapes(int depth_bytes) {
  std::array<std::uint8_t, 64> shapes{};
  shapes[0] = 1;
  const auto set = [&](const Xbyak::Tmm& tile, int rows, int bytes) {
    shapes[static_cast<std::size_t>(16 + 2 * tile.getIdx())] = static_cast<std::uint8_t>(bytes);
    shapes[static_cast<std::size_t>(48 + tile.getIdx())] = static_cast<std::uint8_t>(rows);
  };
  for (int i = 0; i < kTilesAcross; ++i) {
    for (int j = 0; j < kTilesAcross; ++j) set(sums_tile(i, j), kTileRows, kTileBytes);
    set(input_tile(i), kTileRows, depth_bytes);
    set(weights_tile(i), depth_bytes / 4, kTileBytes);
  }
  return shapes;
}

}  // namespace

std::vector<std::byte> emit_matrix_tile(const MatrixTileSpec& spec, const FinishSpec& finish) {
  return MatrixTileCode(spec, finish).emit();
}

std::vector<std::byte> emit_matrix_store() {
  VectorCode code(Isa::avx512);
  code.mov(eax, kTilesAcross * kTileBytes);
  for (int t = 0; t < kTilesAcross; ++t)
    for (int v = 0; v < kTilesAcross; ++v)
      code.tilestored(stored_sums(code, rdi + rax, t, v, kTilesAcross), sums_tile(t, v));
  code.ret();
  return code.finish();
}

std::vector<std::byte> emit_matrix_begin(int depth_bytes) {
  VectorCode code(Isa::avx512);
  Xbyak::Label shapes;
  code.ldtilecfg(code.ptr[rip + shapes]);
  code.ret();
  code.align(64);
  code.L(shapes);
  for (const std::uint8_t byte : tile_shapes(depth_bytes)) code.db(byte);
  return code.finish();
}

std::vector<std::byte> emit_matrix_end() {
  VectorCode code(Isa::avx512);
  code.tilerelease();
  code.ret();
  return code.finish();
}

}  // namespace fuseplan::cpu
