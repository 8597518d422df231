// SPDX-License-Identifier: MIT
#include <map>

#include "kernels/cpu/depthwise/sums.hpp"
#include "kernels/cpu/emit/vector_code.hpp"
#include "kernels/cpu/row_cut.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

class PixelSums {
 public:
  PixelSums(const DepthwisePlan& plan, int rows)
      : plan_(plan), g_(plan.g), code_(plan.isa), rows_(rows) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    c.enter();
    c.mov(taps_, ptr[rdi + static_cast<int>(offsetof(SumsCall, taps))]);
    c.mov(tap_count_, ptr[rdi + static_cast<int>(offsetof(SumsCall, tap_count))]);
    c.mov(sums_, ptr[rdi + static_cast<int>(offsetof(SumsCall, sums))]);
    c.mov(channels_, ptr[rdi + static_cast<int>(offsetof(SumsCall, channels))]);
    c.xor_(x_offset_.cvt32(), x_offset_.cvt32());
    c.xor_(w_offset_.cvt32(), w_offset_.cvt32());
    Xbyak::Label channel;
    c.L(channel);
    sum_rows();
    c.add(x_offset_, ptr[rdi + static_cast<int>(offsetof(SumsCall, x_step))]);
    c.add(w_offset_, static_cast<int>(4 * g_.filter[0] * g_.filter[1] * g_.filter[2]));
    c.add(sums_, static_cast<int>(4 * plan_.sums_pitch));
    c.dec(channels_);
    c.jnz(channel);
    c.leave();
    emit_masks();
    return c.finish();
  }

 private:
  void sum_rows() {
    VectorCode& c = code_;
    const std::vector<RowTile> tiles = cut_row(g_, plan_.tile_vectors * c.lanes(), c.lanes());
    only_tile_ = tiles.size() == 1 && tiles.front().repeat == 1;
    for (const RowTile& tile : tiles) {
      // Neighbouring outputs are neighbours in their phase, or in the row if the stride is 1.
      c.mov(column_, 4 * tile.first);
      Xbyak::Label again;
      if (tile.repeat > 1) c.mov(repeat_, tile.repeat);
      c.L(again);
      sum_tile(tile);
      if (tile.repeat == 1) continue;
      c.add(column_, 4 * tile.columns);
      c.dec(repeat_);
      c.jnz(again);
    }
  }

  // Lanes of vector `v` for which a tap's input column exists.
  std::uint32_t lanes_reading(const RowTile& tile, int v, std::int64_t tap) const {
    std::uint32_t mask = 0;
    for (int lane = 0; lane < code_.lanes(); ++lane)
      if (tile.reads(g_, std::int64_t{v} * code_.lanes() + lane, tap)) mask |= 1u << lane;
    return mask;
  }
  std::uint32_t all_lanes() const { return (1u << code_.lanes()) - 1; }
  Vec sum(int row, int v) { return code_.vec(row * vectors_ + v); }
  Vec weight() { return code_.vec(VectorCode::count(plan_.isa) - 1); }
  Vec spare() { return code_.vec(VectorCode::count(plan_.isa) - 2); }

  void sum_tile(const RowTile& tile) {
    VectorCode& c = code_;
    vectors_ = (tile.columns + c.lanes() - 1) / c.lanes();
    for (int i = 0; i < rows_ * vectors_; ++i) c.vxorps(c.vec(i), c.vec(i), c.vec(i));
    Xbyak::Label next, store;
    c.mov(tap_, taps_);
    c.mov(taps_left_, tap_count_);
    c.test(taps_left_, taps_left_);
    c.jz(store);
    c.align(16);
    c.L(next);
    c.mov(x_, ptr[tap_ + static_cast<int>(offsetof(DepthwiseTaps, x))]);
    c.mov(w_, ptr[tap_ + static_cast<int>(offsetof(DepthwiseTaps, w))]);
    c.add(x_, x_offset_);
    c.add(x_, column_);
    c.add(w_, w_offset_);
    for (int tap = 0; tap < g_.filter[2]; ++tap) sum_tap(tile, tap);
    c.add(tap_, static_cast<int>(sizeof(DepthwiseTaps)));
    c.dec(taps_left_);
    c.jnz(next);
    c.L(store);
    store_tile(tile);
  }

  // Lanes whose tap lies outside the image take no part, so that a weight that is infinite or NaN
  // does not meet a padding zero.
  void sum_tap(const RowTile& tile, int tap) {
    VectorCode& c = code_;
    c.vbroadcastss(weight(), ptr[w_ + 4 * tap]);
    for (int v = 0; v < vectors_; ++v) {
      const std::uint32_t reading = lanes_reading(tile, v, tap);
      if (reading == 0) continue;
      const bool all = reading == all_lanes();
      if (!all && c.is_avx512()) set_mask(reading);
      if (!all && !c.is_avx512()) c.vandps(spare(), weight(), ptr[rip + masks_[reading]]);
      for (int row = 0; row < rows_; ++row) {
        const std::int64_t offset =
            plan_.tap_offset(tap) + row * g_.stride[1] * plan_.row_bytes() + v * c.bytes();
        const auto x = ptr[x_ + static_cast<int>(offset)];
        if (all) {
          c.vfmadd231ps(sum(row, v), weight(), x);
        } else if (c.is_avx512()) {
          c.vfmadd231ps(sum(row, v) | kMask, weight(), x);
        } else {
          c.vfmadd231ps(sum(row, v), spare(), x);
        }
      }
    }
  }

  void set_mask(std::uint32_t lanes) {
    code_.mov(edx, lanes);
    code_.kmovw(kMask, edx);
  }

  // A row's surplus lanes lie where the next row begins: they are overwritten by it if the tile is
  // a whole row, and must not be stored otherwise.
  void store_tile(const RowTile& tile) {
    VectorCode& c = code_;
    const int surplus = vectors_ * c.lanes() - tile.columns;
    const std::uint32_t wanted = all_lanes() >> surplus;
    const bool masked = surplus > 0 && !only_tile_;
    if (masked && c.is_avx512()) set_mask(wanted);
    if (masked && !c.is_avx512()) c.vmovups(spare(), ptr[rip + masks_[wanted]]);
    for (int row = 0; row < rows_; ++row)
      for (int v = 0; v < vectors_; ++v) {
        const std::int64_t offset = row * g_.output.len[4] * 4 + v * c.bytes();
        const auto to = ptr[sums_ + column_ + static_cast<int>(offset)];
        const bool partial = masked && v + 1 == vectors_;
        if (!partial) {
          c.vmovups(to, sum(row, v));
        } else if (c.is_avx512()) {
          c.vmovups(to | kMask, sum(row, v));
        } else {
          c.vmaskmovps(to, spare(), sum(row, v));
        }
      }
  }

  void emit_masks() {
    if (!masks_.empty()) code_.align(32);
    for (auto& [lanes, label] : masks_) {
      code_.L(label);
      for (int lane = 0; lane < code_.lanes(); ++lane)
        code_.dd((lanes >> lane & 1u) != 0 ? 0xffffffffu : 0u);
    }
  }

  const Xbyak::Reg64 tap_ = rax, taps_left_ = rcx, x_ = r8, w_ = r9, taps_ = r10, tap_count_ = r11,
                     column_ = rbx, sums_ = r12, repeat_ = r13, channels_ = r14, x_offset_ = r15,
                     w_offset_ = rsi;
  const Xbyak::Opmask kMask{2};
  const DepthwisePlan& plan_;
  const ConvGeometry& g_;
  VectorCode code_;
  int rows_, vectors_ = 0;
  bool only_tile_ = false;
  std::map<std::uint32_t, Xbyak::Label> masks_;  ///< AVX2
};

}  // namespace

std::vector<std::byte> emit_pixel_sums(const DepthwisePlan& plan, int rows) {
  return PixelSums(plan, rows).emit();
}

}  // namespace fuseplan::cpu
