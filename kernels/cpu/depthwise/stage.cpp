// SPDX-License-Identifier: MIT
#include "kernels/cpu/depthwise/stage.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "kernels/cpu/emit/storage.hpp"
#include "kernels/cpu/portable/block_io.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

int field(std::size_t offset) { return static_cast<int>(offset); }

// A row is stored in whole vectors: what a partial load leaves out is zero, and so is the padding
// that the surplus falls on.
class RowStage {
 public:
  explicit RowStage(const DepthwisePlan& plan)
      : plan_(plan),
        code_(plan.isa),
        storage_(code_, {rdx, rsi, rax}),
        phases_(static_cast<int>(plan.g.stride[2])),
        turn_(phases_ * code_.lanes()),
        columns_(plan.g.input.len[4]) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    Xbyak::Label row;
    c.enter();
    c.mov(row_in_, ptr[rdi + field(offsetof(RowsCall, input))]);
    c.mov(row_out_, ptr[rdi + field(offsetof(RowsCall, output))]);
    c.mov(rows_, ptr[rdi + field(offsetof(RowsCall, rows))]);
    if (phases_ == 2 && c.is_avx512()) {
      c.vmovups(even_index(), ptr[rip + even_table_]);
      c.vmovups(odd_index(), ptr[rip + odd_table_]);
    }
    if (columns_ % c.lanes() != 0) {
      c.mov(tail_, columns_ % c.lanes());
      storage_.begin_partial(tail_);
    }
    c.L(row);
    stage_row();
    c.add(row_in_, ptr[rdi + field(offsetof(RowsCall, input_step))]);
    c.add(row_out_, ptr[rdi + field(offsetof(RowsCall, output_step))]);
    c.dec(rows_);
    c.jnz(row);
    c.leave();
    storage_.emit_tables();
    emit_index_tables();
    return c.finish();
  }

 private:
  Vec vector(int i) { return code_.vec(6 + i); }
  Vec even() { return code_.vec(8); }
  Vec odd() { return code_.vec(9); }
  Vec even_index() { return code_.vec(10); }
  Vec odd_index() { return code_.vec(11); }
  int input_bytes() const { return code_.lanes() * static_cast<int>(size_of(plan_.input)); }

  // Turns of one vector for each phase; the last turn of a row may lack lanes.
  void stage_row() {
    VectorCode& c = code_;
    c.mov(in_, row_in_);
    c.mov(out_, row_out_);
    if (const std::int64_t turns = columns_ / turn_; turns > 0) {
      Xbyak::Label next;
      c.mov(left_, turns);
      c.L(next);
      load_turn(turn_);
      store_turn();
      c.add(in_, phases_ * input_bytes());
      c.add(out_, c.bytes());
      c.dec(left_);
      c.jnz(next);
    }
    if (const int rest = static_cast<int>(columns_ % turn_); rest > 0) {
      load_turn(rest);
      store_turn();
    }
  }

  void load_turn(int columns) {
    VectorCode& c = code_;
    for (int i = 0; i < phases_; ++i, columns -= c.lanes()) {
      const Vec v = vector(i);
      const auto from = ptr[in_ + i * input_bytes()];
      if (columns >= c.lanes()) {
        storage_.load(v, from, plan_.input);
      } else if (columns > 0) {
        storage_.load_partial(v, from, plan_.input);
      } else {
        c.vxorps(v, v, v);
      }
    }
  }

  void store_turn() {
    VectorCode& c = code_;
    if (phases_ == 1) return c.vmovups(ptr[out_], vector(0));
    if (c.is_avx512()) {
      c.vmovaps(even(), even_index());
      c.vmovaps(odd(), odd_index());
      c.vpermi2ps(even(), vector(0), vector(1));
      c.vpermi2ps(odd(), vector(0), vector(1));
    } else {
      // In halves of a vector: a0 a2 b0 b2 | a4 a6 b4 b6, then pairs of floats into place.
      c.vshufps(even(), vector(0), vector(1), 0x88);
      c.vshufps(odd(), vector(0), vector(1), 0xdd);
      for (const Vec& v : {even(), odd()})
        c.vpermpd(Xbyak::Ymm(v.getIdx()), Xbyak::Ymm(v.getIdx()), 0xd8);
    }
    c.vmovups(ptr[out_], even());
    c.vmovups(ptr[out_ + static_cast<int>(plan_.phase_pitch * 4)], odd());
  }

  void emit_index_tables() {
    if (phases_ != 2 || !code_.is_avx512()) return;
    code_.align(64);
    code_.L(even_table_);
    for (std::uint32_t i = 0; i < 16; ++i) code_.dd(2 * i);
    code_.L(odd_table_);
    for (std::uint32_t i = 0; i < 16; ++i) code_.dd(2 * i + 1);
  }

  const Xbyak::Reg64 row_in_ = r8, row_out_ = r9, left_ = r10, in_ = r11, out_ = rbx, rows_ = r12,
                     tail_ = r13;
  const DepthwisePlan& plan_;
  VectorCode code_;
  Storage storage_;
  const int phases_, turn_;  ///< phases, and input columns stored at a time
  const std::int64_t columns_;
  Xbyak::Label even_table_, odd_table_;
};

}  // namespace

std::vector<std::byte> emit_stage(const DepthwisePlan& plan) {
  if (plan.g.stride[2] > 2) return {};
  return RowStage(plan).emit();
}

void stage_by_phase(const DepthwisePlan& plan, const RowsCall& call) {
  const std::int64_t stride = plan.g.stride[2];
  const auto element = static_cast<std::int64_t>(size_of(plan.input));
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const auto* from = static_cast<const std::byte*>(call.input) + row * call.input_step;
    auto* to =
        reinterpret_cast<float*>(static_cast<std::byte*>(call.output) + row * call.output_step);
    for (std::int64_t phase = 0; phase < std::min(stride, call.lanes); ++phase) {
      const int columns = static_cast<int>(ceil_div(call.lanes - phase, stride));
      load_block(plan.input, from + phase * element, {0, stride}, {1, columns, columns},
                 to + phase * plan.phase_pitch);
    }
  }
}

}  // namespace fuseplan::cpu
