// SPDX-License-Identifier: MIT
#include <optional>

#include "kernels/cpu/depthwise/row_cut.hpp"
#include "kernels/cpu/depthwise/sums.hpp"
#include "kernels/cpu/emit/storage.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

class ChannelSums {
 public:
  explicit ChannelSums(const DepthwisePlan& plan)
      : plan_(plan),
        g_(plan.g),
        code_(plan.isa),
        storage_(code_, {rdx, rsi, rdi}),
        column_bytes_(static_cast<int>(g_.input.stride[4] * element_bytes())) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    Xbyak::Label next, rest, end;
    c.enter();
    words_ = c.reserve_words(4);
    copy_word(kTaps, offsetof(SumsCall, taps));
    copy_word(kTapCount, offsetof(SumsCall, tap_count));
    copy_word(kVectors, offsetof(SumsCall, vectors));
    copy_word(kTail, offsetof(SumsCall, tail));
    c.mov(sums_, ptr[rdi + static_cast<int>(offsetof(SumsCall, sums))]);
    c.xor_(x_offset_.cvt32(), x_offset_.cvt32());
    c.xor_(w_offset_.cvt32(), w_offset_.cvt32());
    c.cmp(word(kVectors), 0);
    c.je(rest);
    c.L(next);
    row(false);
    c.add(x_offset_, c.lanes() * element_bytes());
    c.add(w_offset_, c.bytes());
    c.add(sums_, c.bytes());
    c.dec(word(kVectors));
    c.jnz(next);
    c.L(rest);
    if (g_.output.len[1] % c.lanes() != 0) {
      c.mov(tail_, word(kTail));
      c.test(tail_, tail_);
      c.jz(end);
      storage_.begin_partial(tail_);
      row(true);
    }
    c.L(end);
    c.leave();
    storage_.emit_tables();
    return c.finish();
  }

 private:
  enum Word { kTaps, kTapCount, kVectors, kTail };
  Xbyak::Address word(Word which) { return code_.stack_word(words_ + which); }
  void copy_word(Word which, std::size_t offset) {
    code_.mov(rax, ptr[rdi + static_cast<int>(offset)]);
    code_.mov(word(which), rax);
  }
  int element_bytes() const { return static_cast<int>(size_of(plan_.input)); }
  int sums_bytes() const { return static_cast<int>(plan_.chunk * 4); }

  // One vector of channels of the whole row. The sums of a missing channel are never read.
  void row(bool partial) {
    VectorCode& c = code_;
    for (const RowTile& tile : cut_row(g_, plan_.tile_columns, 1)) {
      const std::int64_t origin = tile.first * g_.stride[2] - g_.pad_lo[2];
      c.lea(x_tile_, ptr[x_offset_ + static_cast<int>(origin * column_bytes_)]);
      c.lea(sums_tile_, ptr[sums_ + static_cast<int>(tile.first * sums_bytes())]);
      Xbyak::Label again;
      if (tile.repeat > 1) c.mov(repeat_, tile.repeat);
      c.L(again);
      sum_tile(tile, partial);
      if (tile.repeat == 1) continue;
      c.add(x_tile_, static_cast<int>(tile.columns * g_.stride[2] * column_bytes_));
      c.add(sums_tile_, tile.columns * sums_bytes());
      c.dec(repeat_);
      c.jnz(again, c.T_NEAR);
    }
  }

  void sum_tile(const RowTile& tile, bool partial) {
    VectorCode& c = code_;
    for (int p = 0; p < tile.columns; ++p) c.vxorps(c.vec(p), c.vec(p), c.vec(p));
    Xbyak::Label next, store;
    c.mov(tap_, word(kTaps));
    c.mov(taps_left_, word(kTapCount));
    c.test(taps_left_, taps_left_);
    c.jz(store);
    c.align(16);
    c.L(next);
    c.mov(x_, ptr[tap_ + static_cast<int>(offsetof(DepthwiseTaps, x))]);
    c.mov(w_, ptr[tap_ + static_cast<int>(offsetof(DepthwiseTaps, w))]);
    c.add(x_, x_tile_);
    c.add(w_, w_offset_);
    sum_tap_row(tile, partial);
    c.add(tap_, static_cast<int>(sizeof(DepthwiseTaps)));
    c.dec(taps_left_);
    c.jnz(next);
    c.L(store);
    for (int p = 0; p < tile.columns; ++p) c.vmovups(ptr[sums_tile_ + p * sums_bytes()], c.vec(p));
  }

  // Registers: sums, weights, then two that input columns take in turn.
  void sum_tap_row(const RowTile& tile, bool partial) {
    VectorCode& c = code_;
    const int taps = static_cast<int>(g_.filter[2]);
    const int first_free = tile.columns, inputs = VectorCode::count(plan_.isa) - 2;
    const bool keep_weights = first_free + taps <= inputs;
    const auto weight = [&](int tap) {
      return ptr[w_ + static_cast<int>(tap * plan_.padded_channels * 4)];
    };
    if (keep_weights)
      for (int tap = 0; tap < taps; ++tap) c.vmovups(c.vec(first_free + tap), weight(tap));
    int turn = 0;
    for (std::int64_t column = tile.low; column < tile.high; ++column) {
      std::optional<Vec> x;
      for (int tap = 0; tap < taps; ++tap) {
        const std::int64_t at = column - tap * g_.dilation[2];
        if (at < 0 || at % g_.stride[2] != 0 || at / g_.stride[2] >= tile.columns) continue;
        if (!x) {
          x = c.vec(inputs + turn);
          turn = 1 - turn;
          load(*x, ptr[x_ + static_cast<int>(column * column_bytes_)], partial);
        }
        const Vec sum = c.vec(static_cast<int>(at / g_.stride[2]));
        if (keep_weights) {
          c.vfmadd231ps(sum, *x, c.vec(first_free + tap));
        } else {
          c.vfmadd231ps(sum, *x, weight(tap));
        }
      }
    }
  }

  void load(const Vec& d, const Xbyak::Address& from, bool partial) {
    if (partial) {
      storage_.load_partial(d, from, plan_.input);
    } else {
      storage_.load(d, from, plan_.input);
    }
  }

  const Xbyak::Reg64 tap_ = rax, taps_left_ = rcx, x_ = r8, w_ = r9, x_offset_ = r10,
                     w_offset_ = r11, x_tile_ = rbx, sums_tile_ = r12, sums_ = r13, repeat_ = r14,
                     tail_ = r15;
  const DepthwisePlan& plan_;
  const ConvGeometry& g_;
  VectorCode code_;
  Storage storage_;
  int column_bytes_;
  int words_ = 0;
};

}  // namespace

std::vector<std::byte> emit_channel_sums(const DepthwisePlan& plan) {
  return ChannelSums(plan).emit();
}

}  // namespace fuseplan::cpu
