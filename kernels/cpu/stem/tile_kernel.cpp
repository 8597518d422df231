// SPDX-License-Identifier: MIT
#include "kernels/cpu/stem/tile_kernel.hpp"

#include "base/status.hpp"
#include "kernels/cpu/emit/vector_code.hpp"
#include "kernels/cpu/winograd/separable.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

const Xbyak::Reg64 kValues = r8, kWeights = r9, kOutputs = r10, kGroups = r11;
const Xbyak::Reg64 kValue = rsi, kWeight = rdx, kLeft = rcx, kRow = rbx, kSaved = r12;

class StemTileEmitter {
 public:
  explicit StemTileEmitter(const StemTileSpec& spec) : spec_(spec), code_(spec.isa) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    Xbyak::Label group;
    c.enter();
    c.mov(kValues, ptr[rdi + offsetof(StemTileCall, values)]);
    c.mov(kWeights, ptr[rdi + offsetof(StemTileCall, weights)]);
    c.mov(kOutputs, ptr[rdi + offsetof(StemTileCall, outputs)]);
    c.mov(kGroups, ptr[rdi + offsetof(StemTileCall, groups)]);
    take_slots();
    c.align(32);
    c.L(group);
    rows_of_positions();
    columns_of_outputs();
    c.add(kValues, disp(spec_.tiles * tile_bytes()));
    c.add(kOutputs, disp(spec_.tiles * spec_.columns->outputs * spec_.output_column * 4));
    c.dec(kGroups);
    c.jnz(group);
    c.leave();
    return c.finish();
  }

 private:
  static int disp(std::int64_t bytes) { return static_cast<int>(bytes); }
  std::int64_t position_bytes() const { return spec_.width * 4; }
  std::int64_t row_bytes() const { return spec_.columns->inputs() * position_bytes(); }
  std::int64_t tile_bytes() const { return spec_.rows->inputs() * row_bytes(); }

  /// Rows transformed along columns wait as [row of positions][column of outputs][tile].
  void take_slots() {
    const int count = spec_.rows->inputs() * spec_.columns->outputs * spec_.tiles;
    std::vector<int> slots;
    for (int i = 0; i < count; ++i) slots.push_back(code_.take_slot());
    require(slots.back() - slots.front() + 1 == count, Status::InternalError,
            "sums need neighbouring slots");
    first_slot_ = slots.front();
  }
  std::int64_t saved_row_bytes() const {
    return std::int64_t{spec_.columns->outputs} * spec_.tiles * code_.bytes();
  }
  std::int64_t saved(int column, int tile) const {
    return (std::int64_t{column} * spec_.tiles + tile) * code_.bytes();
  }

  void rows_of_positions() {
    VectorCode& c = code_;
    Xbyak::Label row;
    c.mov(kValue, kValues);
    c.mov(kWeight, kWeights);
    c.lea(kSaved, c.slot(first_slot_));
    c.mov(kRow, spec_.rows->inputs());
    c.align(16);
    c.L(row);
    take_sums();
    sum();
    for (int tile = 0; tile < spec_.tiles; ++tile) transform_row(tile);
    c.add(kValue, disp(row_bytes() - spec_.channels * 4));
    c.add(kSaved, disp(saved_row_bytes()));
    c.dec(kRow);
    c.jnz(row);
  }

  void take_sums() {
    sums_.clear();
    for (int i = 0; i < spec_.columns->inputs() * spec_.tiles; ++i)
      sums_.push_back(code_.vectors().take());
  }
  int& sum_of(int position, int tile) {
    return sums_[static_cast<std::size_t>(position * spec_.tiles + tile)];
  }

  void sum() {
    VectorCode& c = code_;
    constexpr int kUnroll = 2;
    for (const int sum : sums_) c.clear(sum);
    const std::int64_t turns = spec_.channels / kUnroll;
    if (turns > 0) {
      Xbyak::Label next;
      c.mov(kLeft, turns);
      c.align(32);
      c.L(next);
      for (int i = 0; i < kUnroll; ++i) products(i);
      advance(kUnroll);
      c.dec(kLeft);
      c.jnz(next);
    }
    for (int i = 0; i < spec_.channels % kUnroll; ++i) products(i);
    if (spec_.channels % kUnroll != 0) advance(spec_.channels % kUnroll);
  }

  void advance(std::int64_t channels) {
    code_.add(kValue, disp(channels * 4));
    code_.add(kWeight, disp(channels * spec_.columns->inputs() * code_.bytes()));
  }

  void products(int channel) {
    const int positions = spec_.columns->inputs();
    for (int p = 0; p < positions; ++p) {
      const Temp weights(code_);
      code_.vmovups(weights, ptr[kWeight + (channel * positions + p) * code_.bytes()]);
      for (int tile = 0; tile < spec_.tiles; ++tile)
        add_product(code_.vec(sum_of(p, tile)), weights,
                    kValue + disp(tile * tile_bytes() + p * position_bytes()) + channel * 4);
    }
  }

  void add_product(const Vec& sum, const Vec& weights, const Xbyak::RegExp& scalar) {
    if (code_.is_avx512()) return code_.vfmadd231ps(sum, weights, ptr_b[scalar]);
    const Temp lanes(code_);
    code_.vbroadcastss(lanes, dword[scalar]);
    code_.vfmadd231ps(sum, weights, lanes);
  }

  /// The sums of a tile are given back one by one, when they have been used last.
  void transform_row(int tile) {
    const auto take = [&](int position) { return std::exchange(sum_of(position, tile), -1); };
    emit_map(code_, spec_.columns->output, take, [&](int column, const Vec& v) {
      code_.vmovaps(ptr[kSaved + disp(saved(column, tile))], v);
    });
  }

  void columns_of_outputs() {
    VectorCode& c = code_;
    c.lea(kSaved, c.slot(first_slot_));
    for (int column = 0; column < spec_.columns->outputs; ++column)
      for (int tile = 0; tile < spec_.tiles; ++tile) {
        const auto load = [&](int row) {
          const int index = c.vectors().take();
          c.vmovaps(c.vec(index),
                    ptr[kSaved + disp(row * saved_row_bytes() + saved(column, tile))]);
          return index;
        };
        const std::int64_t place = std::int64_t{tile} * spec_.columns->outputs + column;
        emit_map(c, spec_.rows->output, load, [&](int row, const Vec& v) {
          c.vmovups(
              ptr[kOutputs + disp((row * spec_.output_row + place * spec_.output_column) * 4)], v);
        });
      }
  }

  const StemTileSpec& spec_;
  VectorCode code_;
  std::vector<int> sums_;
  int first_slot_ = 0;
};

}  // namespace

bool stem_tiles_fit(Isa isa, const Axis& columns, int tiles) {
  // A transform needs a few registers before it gives any back.
  constexpr int kTransform = 4;
  return tiles > 0 && isa != Isa::portable &&
         columns.inputs() * tiles + kTransform <= VectorCode::count(isa);
}

std::vector<std::byte> emit_stem_tiles(const StemTileSpec& spec) {
  require(stem_tiles_fit(spec.isa, *spec.columns, spec.tiles), Status::InternalError,
          "{} tiles of {} positions a row do not fit the registers", spec.tiles,
          spec.columns->inputs());
  return StemTileEmitter(spec).emit();
}

}  // namespace fuseplan::cpu
