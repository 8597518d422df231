// SPDX-License-Identifier: MIT
#include "kernels/cpu/matrix/tile_emitter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/parallel.hpp"
#include "kernels/cpu/emit/elements_ahead.hpp"
#include "kernels/cpu/emit/strip_finisher.hpp"
#include "kernels/cpu/matrix/tile_turns.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

// Tiles of sums come first, by pixels and then channels, then those of input, one for each tile of
// the grid's pixels if that leaves one for weights, then those of weights.
constexpr int kTiles = 8;
Xbyak::Tmm sums_tile(const TileGrid& grid, int tile, int vector) {
  return Xbyak::Tmm(tile * grid.channels + vector);
}
constexpr int inputs_of(const TileGrid& grid) {
  return std::min(grid.pixels, kTiles - grid.tiles() - 1);
}
constexpr int first_weights(const TileGrid& grid) { return grid.tiles() + inputs_of(grid); }
Xbyak::Tmm input_tile(const TileGrid& grid, int tile) {
  return Xbyak::Tmm(grid.tiles() + tile % inputs_of(grid));
}
Xbyak::Tmm weights_tile(const TileGrid& grid, int vector) {
  return Xbyak::Tmm(first_weights(grid) + vector % (kTiles - first_weights(grid)));
}

/// Where a kernel keeps the sums of one tile, [pixel][channel] or [channel][pixel].
Xbyak::Address stored_sums(const VectorCode& code, const Xbyak::RegExp& sums, int tile, int vector,
                           const MatrixTileSpec& spec) {
  const int row = spec.by_plane ? vector : tile, column = spec.by_plane ? tile : vector;
  return code.ptr[sums + row * kTileRows * static_cast<int>(spec.sums_bytes) + column * kTileBytes];
}

class MatrixTileCode {
 public:
  MatrixTileCode(const MatrixTileSpec& spec, const FinishSpec& finish)
      : spec_(spec),
        unrolled_(unrolled_steps(spec.product, spec.steps, spec.overlaps)),
        code_(Isa::avx512),
        elements_(code_, finish, spec.vectors, spec.asked_pixels) {
    if (spec.has_gaps) gaps_word_ = code_.reserve_words(1);
    if (spec.overlaps) strip_.emplace(code_, StripSpec{spec.vectors, kTileLanes}, finish);
  }

  std::vector<std::byte> emit() {
    code_.enter();
    read_call();
    Xbyak::Label turns, rest;
    if (strip_) finish_or_go_on(turns, rest);
    each_sum([&](int t, int v) { code_.tilezero(sums(t, v)); });
    begin_turns(spec_.steps);
    if (spec_.steps >= unrolled_) repeat(turns, [&] { sum_awake(unrolled_); });
    code_.L(rest);
    if (spec_.steps % unrolled_ > 0) sum_awake(static_cast<int>(spec_.steps % unrolled_));
    if (!spec_.overlaps) store();
    code_.leave();
    if (shares_step()) emit_step();
    return code_.finish();
  }

 private:
  /// The code that finishes a strip, with pointers in what the products leave over.
  struct Strip {
    Strip(VectorCode& code, const StripSpec& strip, const FinishSpec& finish)
        : spec(strip),
          pointers(code, finish, kPointers),
          storage(code, {rax, rax, rax}, finish.bf16),
          emitter(code, spec, finish, kStored, pointers, storage) {}
    StripSpec spec;
    ChainPointers pointers;
    Storage storage;
    StripEmitter emitter;
  };

  /// Repeats as often as ecx says.
  template <typename F>
  void repeat(Xbyak::Label& turn, const F& f) {
    code_.align(32);
    code_.L(turn);
    f();
    code_.dec(ecx);
    code_.jnz(turn, Xbyak::CodeGenerator::T_NEAR);
  }

  void begin_turns(std::int64_t steps) {
    code_.mov(ecx, static_cast<std::uint32_t>(steps / unrolled_));
    code_.vpxor(xmm0, xmm0, xmm0);
  }

  /// Where a strip waits in the tiles, finishes it and goes on with the steps that are left.
  void finish_or_go_on(Xbyak::Label& turns, Xbyak::Label& rest) {
    Xbyak::Label fresh;
    code_.je(fresh, Xbyak::CodeGenerator::T_NEAR);
    const std::int64_t left = spec_.steps - finish_meanwhile();
    begin_turns(left);
    code_.jmp(left >= unrolled_ ? turns : rest, Xbyak::CodeGenerator::T_NEAR);
    code_.L(fresh);
  }

  /// Returns the steps that were summed in the meantime.
  int finish_meanwhile() {
    const auto [quiet, steps] = meanwhile(spec_.grid, spec_.steps, unrolled_);
    const int pixels = spec_.grid.rows() / steps;
    const auto finish = [&] {
      for (int done = 0; done < pixels; done += spec_.grain) finish_grain();
    };
    store_and_sum();
    for (int i = 0; i < quiet; ++i) sum_single();
    finish();
    if (steps == 1) return quiet + steps;
    Xbyak::Label next;
    code_.mov(ecx, static_cast<std::uint32_t>(steps - 1));
    repeat(next, [&] {
      sum_single();
      finish();
    });
    return quiet + steps;
  }

  void finish_grain() {
    Xbyak::Label left_out;
    if (spec_.has_gaps) {
      code_.shr(gaps(), 1);
      code_.jc(left_out, Xbyak::CodeGenerator::T_NEAR);
    }
    strip_->emitter.finish(spec_.grain);
    strip_->emitter.move_pointers(spec_.grain);
    code_.L(left_out);
    strip_->emitter.move_sums(spec_.grain);
  }

  Xbyak::Address gaps() { return code_.stack_word(gaps_word_); }

  void read_call() {
    const auto field = [](std::size_t offset) { return ptr[rdi + static_cast<int>(offset)]; };
    code_.mov(kBase, field(offsetof(MatrixTileCall, input)));
    code_.mov(kLast, field(offsetof(MatrixTileCall, last)));
    code_.mov(kWeights, field(offsetof(MatrixTileCall, weights)));
    code_.mov(kNext, field(offsetof(MatrixTileCall, next)));
    code_.mov(kSteps, field(offsetof(MatrixTileCall, steps)));
    if (spec_.asked_pixels > 0) {
      code_.mov(rcx, field(offsetof(MatrixTileCall, elements)));
      elements_.begin(rcx, rax);
    }
    if (strip_) {
      code_.mov(rcx, field(offsetof(MatrixTileCall, chain)));
      strip_->pointers.read(rcx);
    }
    if (spec_.has_gaps) {
      code_.mov(rcx, field(offsetof(MatrixTileCall, gaps)));
      code_.mov(gaps(), rcx);
    }
    if (strip_) code_.cmp(byte[rdi + static_cast<int>(offsetof(MatrixTileCall, finishes))], 0);
    code_.mov(kStored, field(offsetof(MatrixTileCall, sums)));
    code_.mov(kInputRow, static_cast<std::uint64_t>(spec_.row_bytes));
    code_.mov(kWeightsRow.cvt32(), kTileBytes);
  }

  Xbyak::Tmm sums(int tile, int vector) const { return sums_tile(spec_.grid, tile, vector); }
  Xbyak::Tmm input(int tile) const { return input_tile(spec_.grid, tile); }
  Xbyak::Tmm weights(int vector) const { return weights_tile(spec_.grid, vector); }

  template <typename F>
  void each_sum(const F& f) const {
    for (int t = 0; t < spec_.tiles; ++t)
      for (int v = 0; v < spec_.vectors; ++v) f(t, v);
  }

  int weight_bytes() const { return spec_.depth_bytes / 4 * kTileBytes; }
  int step_bytes() const {
    return spec_.vectors * traits_of(spec_.product).pieces * weight_bytes();
  }

  void sum_steps(int steps) {
    sum_steps(steps, [](int, int) {});
  }

  /// A step of many products stands once, for both loops of a kernel that has two.
  bool shares_step() const { return strip_ && unrolled_ == 1 && spec_.steps > 1; }
  void emit_step() {
    code_.align(32);
    code_.L(step_);
    multiply_step(0, [](int, int) {});
    advance(1);
    code_.ret();
  }
  void call_step() {
    elements_.ask(kInput);  // words of the stack are not in reach of the function
    code_.call(step_);
  }

  /// The first step, whose products wait for no store but that of their own tile.
  void store_and_sum() {
    set_stored_row();
    sum_steps(1, [&](int t, int v) {
      store(t, v);
      code_.tilezero(sums(t, v));
    });
  }

  template <typename F>
  void sum_steps(int steps, const F& before_product) {
    for (int step = 0; step < steps; ++step) {
      elements_.ask(kInput);
      multiply_step(step, before_product);
    }
    advance(steps);
  }

  void advance(int steps) {
    code_.add(kSteps, 8 * steps);
    code_.add(kWeights, steps * step_bytes());
    if (spec_.next_lines > 0) code_.add(kNext, steps * spec_.next_lines * kTileBytes);
  }

  void sum_single() { shares_step() ? call_step() : sum_steps(1); }

  void sum_awake(int steps) {
    shares_step() ? call_step() : sum_steps(steps);
    stay_awake();
  }

  /// Without work for half a microsecond, the unit for 512-bit products falls asleep, and then
  /// keeps the first store of sums waiting for a quarter of one (seen on Emerald Rapids). Additions
  /// do not keep it awake.
  void stay_awake() { code_.vmulps(zmm0, zmm0, zmm0); }

  template <typename F>
  void multiply_step(int step, const F& before_product) {
    code_.mov(kInput, ptr[kSteps + 8 * step]);
    code_.add(kInput, kBase);
    if (spec_.tiles > 1 && spec_.last_is_apart) code_.lea(kLastInput, ptr[kInput + kLast]);
    const std::span<const PiecePair> pairs = traits_of(spec_.product).pairs;
    const int products = static_cast<int>(pairs.size()) * spec_.tiles * spec_.vectors;
    int product = 0;
    Held held[kTiles];
    for (const PiecePair& pair : pairs)
      each_product([&](int t, int v) {
        if (change(held, input(t), {t, pair.input})) load_input(t, pair.input);
        if (change(held, weights(v), {v, pair.weights})) load_weights(step, v, pair.weights);
        if (product < spec_.tiles * spec_.vectors) before_product(t, v);
        multiply(sums(t, v), input(t), weights(v));
        fetch(step, split(spec_.next_lines, products, product++));
      });
  }

  /// What a tile of an operand holds.
  struct Held {
    int index = -1, piece = -1;
    bool operator==(const Held&) const = default;
  };
  static bool change(std::span<Held> held, const Xbyak::Tmm& tile, const Held& wanted) {
    return std::exchange(held[static_cast<std::size_t>(tile.getIdx())], wanted) != wanted;
  }

  /// In the order that loads least. Of six sums, where a single tile is left for each operand, the
  /// input of the first level is loaded again, there and back, rather than the weights.
  template <typename F>
  void each_product(const F& f) const {
    if (inputs_of(spec_.grid) > 1 || spec_.grid.pixels == 1) return each_sum(f);
    for (int v = 0; v < spec_.vectors; ++v)
      for (int i = 0; i < spec_.tiles; ++i) f(v % 2 == 0 ? i : spec_.tiles - 1 - i, v);
  }

  // A few after each product: many at once would keep loads of tiles waiting.
  void fetch(int step, const Range& lines) {
    for (long i = lines.first; i < lines.last; ++i)
      code_.prefetcht1(ptr[kNext + static_cast<int>(step * spec_.next_lines + i) * kTileBytes]);
  }

  void load_input(int tile, int piece) {
    const bool apart = spec_.last_is_apart && tile > 0 && tile + 1 == spec_.tiles;
    const std::int64_t at = (apart ? 0 : tile * spec_.tile_bytes) + piece * spec_.piece_bytes;
    load(input(tile), ptr[(apart ? kLastInput : kInput) + kInputRow + static_cast<int>(at)],
         spec_.far == Far::input);
    if (!spec_.next_input) return;
    const std::int64_t next = at + spec_.tiles * spec_.tile_bytes;
    for (int row = 0; row < kTileRows; ++row)
      code_.prefetcht1(
          ptr[(apart ? kLastInput : kInput) + static_cast<int>(next + row * spec_.row_bytes)]);
  }

  void load_weights(int step, int vector, int piece) {
    const int pieces = traits_of(spec_.product).pieces;
    const int at = ((step * spec_.vectors + vector) * pieces + piece) * weight_bytes();
    load(weights(vector), ptr[kWeights + kWeightsRow + at], spec_.far == Far::weights);
  }

  void load(const Xbyak::Tmm& tile, const Xbyak::Address& from, bool is_far) {
    is_far ? code_.tileloaddt1(tile, from) : code_.tileloadd(tile, from);
  }

  void multiply(const Xbyak::Tmm& sum, const Xbyak::Tmm& input, const Xbyak::Tmm& weights) {
    if (spec_.by_plane) return code_.tdpbf16ps(sum, weights, input);
    switch (spec_.product) {
      case Product::bf16:
      case Product::f16:
      case Product::f32:
        return code_.tdpbf16ps(sum, input, weights);
      case Product::unsigned_bytes:
        return code_.tdpbusd(sum, input, weights);
      case Product::signed_bytes:
        return code_.tdpbssd(sum, input, weights);
    }
  }

  void set_stored_row() {
    code_.mov(kStoredRow.cvt32(), static_cast<std::uint32_t>(spec_.sums_bytes));
  }

  void store() {
    set_stored_row();
    each_sum([&](int t, int v) { store(t, v); });
  }

  void store(int tile, int vector) {
    code_.tilestored(stored_sums(code_, kStored + kStoredRow, tile, vector, spec_),
                     sums(tile, vector));
  }

  static inline const Xbyak::Reg64 kBase = rsi, kWeights = rdx, kInputRow = r8, kWeightsRow = r9,
                                   kLast = r10, kSteps = r11, kStored = rdi, kNext = r13,
                                   kStoredRow = rax, kInput = rbx, kLastInput = r12;
  static inline const Xbyak::Reg64 kPointers[] = {r14, r15};
  const MatrixTileSpec& spec_;
  const int unrolled_;  ///< steps of a turn
  VectorCode code_;
  ElementsAhead elements_;
  Xbyak::Label step_;
  int gaps_word_ = -1;
  std::optional<Strip> strip_;
};

// The operand of ldtilecfg: palette, then bytes of a row and rows of each tile.
std::array<std::uint8_t, 64> tile_shapes(const TileGrid& grid, int depth_bytes) {
  std::array<std::uint8_t, 64> shapes{};
  shapes[0] = 1;
  for (int tile = 0; tile < kTiles; ++tile) {
    const bool is_weights = tile >= first_weights(grid);
    const bool is_input = tile >= grid.tiles() && !is_weights;
    const int rows = is_weights ? depth_bytes / 4 : kTileRows;
    shapes[static_cast<std::size_t>(16 + 2 * tile)] =
        static_cast<std::uint8_t>(is_input ? depth_bytes : kTileBytes);
    shapes[static_cast<std::size_t>(48 + tile)] = static_cast<std::uint8_t>(rows);
  }
  return shapes;
}

}  // namespace

std::vector<std::byte> emit_matrix_tile(const MatrixTileSpec& spec, const FinishSpec& finish) {
  return MatrixTileCode(spec, finish).emit();
}

std::vector<std::byte> emit_matrix_store(const TileGrid& grid) {
  VectorCode code(Isa::avx512);
  MatrixTileSpec spec;
  spec.sums_bytes = grid.channels * kTileBytes;
  code.mov(eax, static_cast<std::uint32_t>(spec.sums_bytes));
  for (int t = 0; t < grid.pixels; ++t)
    for (int v = 0; v < grid.channels; ++v)
      code.tilestored(stored_sums(code, rdi + rax, t, v, spec), sums_tile(grid, t, v));
  code.ret();
  return code.finish();
}

std::vector<std::byte> emit_matrix_begin(const TileGrid& grid, int depth_bytes) {
  VectorCode code(Isa::avx512);
  Xbyak::Label shapes;
  code.ldtilecfg(code.ptr[rip + shapes]);
  code.ret();
  code.align(64);
  code.L(shapes);
  for (const std::uint8_t byte : tile_shapes(grid, depth_bytes)) code.db(byte);
  return code.finish();
}

std::vector<std::byte> emit_matrix_end() {
  VectorCode code(Isa::avx512);
  code.tilerelease();
  code.ret();
  return code.finish();
}

}  // namespace fuseplan::cpu
