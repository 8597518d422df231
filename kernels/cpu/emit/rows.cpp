// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/rows.hpp"

#include <algorithm>
#include <cstddef>

#include "base/status.hpp"
#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/rows_leaves.hpp"

namespace fuseplan::cpu {

namespace {

constexpr int kLongRow = 12;  ///< in vectors

class RowsEmitter {
 public:
  explicit RowsEmitter(const RowsSpec& spec)
      : spec_(spec),
        uses_(spec.body),
        code_(spec.isa),
        leaves_(code_, spec),
        unroll_(vectors_per_turn(spec.body)) {}

  std::vector<std::byte> emit() { return spec_.lanes == 0 ? any_lanes() : fixed_lanes(); }

 private:
  std::vector<std::byte> any_lanes() {
    VectorCode& c = code_;
    Xbyak::Label row, main, head, spanning, done, next;
    c.enter();
    rows_ = c.reserve_words(2);
    lanes_ = rows_ + 1;
    leaves_.start(RowsLeaves::Rows::many);
    hoist_constants();
    copy_word(rows_, offsetof(RowsCall, rows));
    copy_word(lanes_, offsetof(RowsCall, lanes));
    c.xor_(RowsLeaves::lane().cvt32(), RowsLeaves::lane().cvt32());
    c.L(row);
    leaves_.start_row();
    align_output(main, head);
    c.L(main);
    if (unroll_ > 1) whole_vectors(unroll_);
    whole_vectors(1);
    c.mov(RowsLeaves::count(), c.stack_word(lanes_));
    c.sub(RowsLeaves::count(), RowsLeaves::lane());
    c.jz(done);
    if (spec_.touching) {
      c.cmp(c.stack_word(rows_), 1);
      c.jne(spanning);
    }
    c.L(head);
    leaves_.storage().begin_partial(RowsLeaves::count());
    vector(0, true);
    c.add(RowsLeaves::lane(), RowsLeaves::count());
    c.cmp(RowsLeaves::lane(), c.stack_word(lanes_));
    c.jb(main);
    c.L(done);
    c.xor_(RowsLeaves::lane().cvt32(), RowsLeaves::lane().cvt32());
    c.L(next);
    leaves_.next_row();
    c.dec(c.stack_word(rows_));
    c.jnz(row);
    if (spec_.streaming && spec_.fences) c.sfence();
    c.leave();
    if (spec_.touching) {
      c.L(spanning);
      spanning_vector();
      c.jmp(next);
    }
    leaves_.storage().emit_tables();
    return c.finish();
  }

  std::vector<std::byte> fixed_lanes() {
    VectorCode& c = code_;
    require(spec_.lanes % c.lanes() == 0 && !spec_.touching && !spec_.streaming,
            Status::InternalError, "rows of {} lanes are no whole vectors apart", spec_.lanes);
    Xbyak::Label row;
    c.enter();
    leaves_.start(RowsLeaves::Rows::many);
    hoist_constants();
    c.mov(RowsLeaves::count(),
          c.ptr[RowsLeaves::call() + static_cast<int>(offsetof(RowsCall, rows))]);
    c.xor_(RowsLeaves::lane().cvt32(), RowsLeaves::lane().cvt32());
    c.align(32);
    c.L(row);
    leaves_.start_row();
    neighbours(static_cast<int>(spec_.lanes / c.lanes()));
    leaves_.next_row();
    c.dec(RowsLeaves::count());
    c.jnz(row);
    c.leave();
    return c.finish();
  }

  void copy_word(int word, std::size_t offset) {
    code_.mov(code_.rax, code_.ptr[RowsLeaves::call() + static_cast<int>(offset)]);
    code_.mov(code_.stack_word(word), code_.rax);
  }

  /// Gives the registers that the body leaves over to the constants it uses most. What it needs
  /// shows when it is emitted once for nothing.
  void hoist_constants() {
    if (!has_constants()) return;
    RowsEmitter trial(spec_);
    trial.code_.enter();
    trial.leaves_.start(RowsLeaves::Rows::many);
    const std::size_t before = trial.code_.vectors().free();
    if (spec_.lanes == 0) trial.leaves_.storage().begin_partial(RowsLeaves::count());
    trial.vector(0, false);
    if (spec_.lanes == 0) trial.vector(0, true);
    if (spec_.touching) trial.leaves_.blend_next_row();
    const std::size_t needed = before - trial.code_.vectors().lowest();
    for (const std::uint32_t value : trial.code_.used_constants())
      if (code_.vectors().free() > needed) code_.hoist(value);
  }

  /// Whether the body may read constants that no register holds yet.
  bool has_constants() {
    const Graph& graph = spec_.body.graph;
    bool has = brings_constants(spec_.body) || Storage::brings_constants(spec_.output);
    for (Ref i = 0; i < graph.size(); ++i)
      has = has || (graph[i].leaf == Leaf::constant && !leaves_.find(graph[i]));
    return has;
  }

  /// The last count() lanes of a row and the first of the next, which starts behind them.
  void spanning_vector() {
    leaves_.storage().begin_partial(RowsLeaves::count());
    leaves_.blend_next_row();
    vector(0, false);
    code_.mov(RowsLeaves::lane(), code_.lanes());
    code_.sub(RowsLeaves::lane(), RowsLeaves::count());
  }

  /// Starts with a partial vector if the row's output does not lie at a multiple of a stored
  /// vector. Streaming stores need that; for others it pays in long rows, as each would touch two
  /// lines.
  void align_output(const Xbyak::Label& main, const Xbyak::Label& head) {
    VectorCode& c = code_;
    const Xbyak::Reg64 count = RowsLeaves::count();
    const int element = static_cast<int>(size_of(spec_.output));
    if (!spec_.streaming && !spec_.touching) {
      c.cmp(c.stack_word(lanes_), kLongRow * c.lanes());
      c.jb(main);
    }
    c.lea(count, c.ptr[leaves_.output_pointer() + RowsLeaves::lane() * element]);
    c.neg(count);
    c.and_(count, c.lanes() * element - 1);
    if (element > 1) c.shr(count, element == 4 ? 2 : 1);
    c.cmp(count, c.stack_word(lanes_));
    c.cmova(count, c.stack_word(lanes_));
    c.test(count, count);
    c.jnz(head);
  }

  void vector(int number, bool partial) {
    leaves_.select(number, partial);
    emit_expr(code_, spec_.body, uses_, leaves_, [&](std::size_t, const Vec& value) {
      if (partial) {
        leaves_.storage().store_partial(leaves_.output(), value, spec_.output);
      } else {
        leaves_.storage().store(leaves_.output(), value, spec_.output, spec_.streaming);
      }
    });
  }

  /// So many whole vectors beside each other. All repeat the instructions of the first in other
  /// places, if they can be repeated.
  void neighbours(int vectors) {
    code_.record();
    vector(0, false);
    const auto first = code_.recorded();
    for (int i = 1; i < vectors; ++i) {
      if (!first) {
        vector(i, false);
        continue;
      }
      for (VectorInstruction instruction : *first) {
        if (instruction.memory) instruction.at.displacement += i * leaves_.step(instruction.at);
        code_.put(instruction);
      }
    }
  }

  /// While `vectors` whole vectors are left: compute them.
  void whole_vectors(int vectors) {
    VectorCode& c = code_;
    const int step = vectors * c.lanes();
    Xbyak::Label loop, end;
    c.lea(c.rax, c.ptr[RowsLeaves::lane() + step]);
    c.cmp(c.rax, c.stack_word(lanes_));
    c.ja(end);
    c.align(32);
    c.L(loop);
    neighbours(vectors);
    c.add(RowsLeaves::lane(), step);
    c.lea(c.rax, c.ptr[RowsLeaves::lane() + step]);
    c.cmp(c.rax, c.stack_word(lanes_));
    c.jbe(loop);
    c.L(end);
  }

  const RowsSpec& spec_;
  const ExprUses uses_;
  VectorCode code_;
  RowsLeaves leaves_;
  int unroll_, rows_ = 0, lanes_ = 0;
};

}  // namespace

std::vector<std::byte> emit_rows(const RowsSpec& spec) { return RowsEmitter(spec).emit(); }

}  // namespace fuseplan::cpu
