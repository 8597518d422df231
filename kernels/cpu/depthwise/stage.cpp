// SPDX-License-Identifier: MIT
#include "kernels/cpu/depthwise/stage.hpp"

#include <algorithm>

#include "kernels/cpu/emit/storage.hpp"
#include "kernels/cpu/portable/block_io.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

int field(std::size_t offset) { return static_cast<int>(offset); }

class PhaseSplit {
 public:
  explicit PhaseSplit(const DepthwisePlan& plan)
      : plan_(plan), code_(plan.isa), storage_(code_, {rdx, rsi, rax}) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    Xbyak::Label row;
    c.enter();
    c.mov(row_in_, ptr[rdi + field(offsetof(RowsCall, input))]);
    c.mov(row_out_, ptr[rdi + field(offsetof(RowsCall, output))]);
    c.mov(rows_, ptr[rdi + field(offsetof(RowsCall, rows))]);
    if (c.is_avx512()) {
      c.vmovups(even_index(), ptr[rip + even_table_]);
      c.vmovups(odd_index(), ptr[rip + odd_table_]);
    }
    c.L(row);
    split_row();
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
  Vec a() { return code_.vec(6); }
  Vec b() { return code_.vec(7); }
  Vec even() { return code_.vec(8); }
  Vec odd() { return code_.vec(9); }
  Vec even_index() { return code_.vec(10); }
  Vec odd_index() { return code_.vec(11); }
  int input_bytes() const { return code_.lanes() * static_cast<int>(size_of(plan_.input)); }

  void split_row() {
    VectorCode& c = code_;
    Xbyak::Label pair, rest, part_of_second, first_only, last, end;
    c.mov(in_, row_in_);
    c.mov(out_, row_out_);
    c.mov(left_, ptr[rdi + field(offsetof(RowsCall, lanes))]);
    c.L(pair);
    c.cmp(left_, 2 * c.lanes());
    c.jb(rest);
    storage_.load(a(), ptr[in_], plan_.input);
    storage_.load(b(), ptr[in_ + input_bytes()], plan_.input);
    split_pair();
    c.add(in_, 2 * input_bytes());
    c.add(out_, c.bytes());
    c.sub(left_, 2 * c.lanes());
    c.jmp(pair);
    c.L(rest);
    c.test(left_, left_);
    c.jz(end);
    c.vxorps(b(), b(), b());
    c.cmp(left_, c.lanes());
    c.ja(part_of_second);
    c.je(first_only);
    storage_.begin_partial(left_);
    storage_.load_partial(a(), ptr[in_], plan_.input);
    c.jmp(last);
    c.L(part_of_second);
    c.sub(left_, c.lanes());
    storage_.begin_partial(left_);
    storage_.load_partial(b(), ptr[in_ + input_bytes()], plan_.input);
    c.L(first_only);
    storage_.load(a(), ptr[in_], plan_.input);
    c.L(last);
    split_pair();
    c.L(end);
  }

  void split_pair() {
    VectorCode& c = code_;
    if (c.is_avx512()) {
      c.vmovaps(even(), even_index());
      c.vmovaps(odd(), odd_index());
      c.vpermi2ps(even(), a(), b());
      c.vpermi2ps(odd(), a(), b());
    } else {
      // In halves of a vector: a0 a2 b0 b2 | a4 a6 b4 b6, then pairs of floats into place.
      c.vshufps(even(), a(), b(), 0x88);
      c.vshufps(odd(), a(), b(), 0xdd);
      for (const Vec& v : {even(), odd()})
        c.vpermpd(Xbyak::Ymm(v.getIdx()), Xbyak::Ymm(v.getIdx()), 0xd8);
    }
    c.vmovups(ptr[out_], even());
    c.vmovups(ptr[out_ + static_cast<int>(plan_.phase_pitch * 4)], odd());
  }

  void emit_index_tables() {
    if (!code_.is_avx512()) return;
    code_.align(64);
    code_.L(even_table_);
    for (std::uint32_t i = 0; i < 16; ++i) code_.dd(2 * i);
    code_.L(odd_table_);
    for (std::uint32_t i = 0; i < 16; ++i) code_.dd(2 * i + 1);
  }

  const Xbyak::Reg64 row_in_ = r8, row_out_ = r9, left_ = r10, in_ = r11, out_ = rbx, rows_ = r12;
  const DepthwisePlan& plan_;
  VectorCode code_;
  Storage storage_;
  Xbyak::Label even_table_, odd_table_;
};

}  // namespace

std::vector<std::byte> emit_stage(const DepthwisePlan& plan) {
  if (plan.g.stride[2] == 2) return PhaseSplit(plan).emit();
  if (plan.g.stride[2] > 2) return {};
  Expr same;
  same.roots = {same.graph.leaf(Leaf::input)};
  return emit_rows({plan.isa, same, plan.input, DType::f32, false, {}, false});
}

void stage_by_phase(const DepthwisePlan& plan, const RowsCall& call) {
  const std::int64_t stride = plan.g.stride[2];
  const auto element = static_cast<std::int64_t>(size_of(plan.input));
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const auto* from = static_cast<const std::byte*>(call.input) + row * call.input_step;
    auto* to =
        reinterpret_cast<float*>(static_cast<std::byte*>(call.output) + row * call.output_step);
    for (std::int64_t phase = 0; phase < std::min(stride, call.lanes); ++phase) {
      const int columns = static_cast<int>((call.lanes - phase + stride - 1) / stride);
      load_block(plan.input, from + phase * element, {0, stride}, {1, columns, columns},
                 to + phase * plan.phase_pitch);
    }
  }
}

}  // namespace fuseplan::cpu
