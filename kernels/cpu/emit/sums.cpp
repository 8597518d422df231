// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/sums.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/chain_frame.hpp"
#include "kernels/cpu/emit/rows_leaves.hpp"

namespace fuseplan::cpu {

namespace {

static_assert(kSumLanes == 16, "the lanes of the widest vector");

/// Each root added to what its sum held before, which is leaf `previous` of the root's number; a
/// product by one multiply-add.
Expr accumulated(const Expr& body) {
  Expr sums = body;
  for (std::size_t r = 0; r < body.roots.size(); ++r) {
    const Ref before = sums.graph.leaf(Leaf::previous, static_cast<int>(r));
    const Node root = body.graph[body.roots[r]];
    const bool is_product = root.leaf == Leaf::none && root.fn == Fn::mul_;
    sums.roots[r] = is_product ? sums.graph.call(Fn::fma_, root.args[0], root.args[1], before)
                               : sums.graph.call(Fn::add_, body.roots[r], before);
  }
  return compact(sums);
}

/// The leaves of a rows kernel, and sums in registers.
class SumsLeaves final : public LeafSource {
 public:
  SumsLeaves(VectorCode& code, RowsLeaves& rows, std::size_t roots, int vectors)
      : code_(code), rows_(rows), vectors_(vectors) {
    for (std::size_t i = 0; i < roots * static_cast<std::size_t>(vectors); ++i)
      registers_.push_back(code.vectors().take());
  }
  Vec sum(std::size_t root, int vector) const {
    return code_.vec(
        registers_[root * static_cast<std::size_t>(vectors_) + static_cast<std::size_t>(vector)]);
  }
  void select(int vector, bool partial) {
    vector_ = vector;
    rows_.select(vector, partial);
  }
  std::optional<Source> find(const Node& leaf) override {
    if (leaf.leaf != Leaf::previous) return rows_.find(leaf);
    return sum(static_cast<std::size_t>(leaf.index), vector_);
  }
  void load(const Vec& d, const Node& leaf) override { rows_.load(d, leaf); }

 private:
  VectorCode& code_;
  RowsLeaves& rows_;
  int vectors_, vector_ = 0;
  std::vector<int> registers_;
};

class SumsEmitter {
 public:
  explicit SumsEmitter(const SumsSpec& spec)
      : spec_(spec),
        body_(accumulated(spec.rows.body)),
        code_(spec.rows.isa),
        leaves_(code_, spec.rows),
        unroll_(unroll_that_fits()),
        sums_(code_, leaves_, body_.roots.size(), unroll_) {}

  std::vector<std::byte> emit() {
    start();
    hoist_constants();
    spec_.per_lane ? sums_of_lanes() : sums_of_rows();
    code_.leave();
    leaves_.storage().emit_tables();
    return code_.finish();
  }

 private:
  int unroll_that_fits() {
    const std::size_t roots = std::max<std::size_t>(body_.roots.size(), 1);
    const std::size_t free = code_.vectors().free() - kExprRegisters;
    require(free >= roots, Status::InternalError, "{} sums at once are too many", roots);
    return std::min(vectors_per_turn(body_), static_cast<int>(free / roots));
  }

  void start() {
    VectorCode& c = code_;
    c.enter();
    call_ = c.reserve_words(3);
    rows_ = call_ + 1;
    lanes_ = call_ + 2;
    c.mov(c.stack_word(call_), RowsLeaves::call());
    leaves_.start(RowsLeaves::Rows::many);
    c.mov(c.rax, field(offsetof(RowsCall, lanes)));
    c.mov(c.stack_word(lanes_), c.rax);
    c.xor_(RowsLeaves::lane().cvt32(), RowsLeaves::lane().cvt32());
  }

  Xbyak::Address field(std::size_t offset) {
    return code_.ptr[RowsLeaves::call() + static_cast<int>(offset)];
  }

  /// As in a rows kernel: what the body leaves over goes to the constants that it uses most.
  void hoist_constants() {
    SumsEmitter trial(spec_);
    trial.start();
    const std::size_t before = trial.code_.vectors().free();
    trial.leaves_.storage().begin_partial(RowsLeaves::count());
    trial.vector(0, false);
    trial.vector(0, true);
    const std::size_t needed = before - trial.code_.vectors().lowest();
    for (const std::uint32_t value : trial.code_.used_constants())
      if (code_.vectors().free() > needed) code_.hoist(value);
  }

  void vector(int number, bool partial) {
    sums_.select(number, partial);
    emit_expr(code_, body_, sums_, [&](std::size_t root, const Vec& value) {
      const Vec sum = sums_.sum(root, number);
      if (partial) leaves_.storage().replace_rest(value, sum);
      code_.vmovaps(sum, value);
    });
  }

  template <typename F>
  void each_sum(int vectors, const F& f) {
    for (std::size_t root = 0; root < body_.roots.size(); ++root)
      for (int v = 0; v < vectors; ++v) f(root, v, sums_.sum(root, v));
  }

  /// While `vectors` whole vectors are left: `work`.
  template <typename F>
  void whole_vectors(int vectors, const F& work) {
    VectorCode& c = code_;
    const int step = vectors * c.lanes();
    Xbyak::Label loop, end;
    c.L(loop);
    c.lea(c.rax, c.ptr[RowsLeaves::lane() + step]);
    c.cmp(c.rax, c.stack_word(lanes_));
    c.ja(end);
    work();
    c.add(RowsLeaves::lane(), step);
    c.jmp(loop);
    c.L(end);
  }

  /// `whole` with each number of vectors that fits, then `partial` if lanes are left.
  template <typename Whole, typename Partial>
  void all_lanes(const Whole& whole, const Partial& partial) {
    VectorCode& c = code_;
    Xbyak::Label done;
    if (unroll_ > 1) whole_vectors(unroll_, [&] { whole(unroll_); });
    whole_vectors(1, [&] { whole(1); });
    c.mov(RowsLeaves::count(), c.stack_word(lanes_));
    c.sub(RowsLeaves::count(), RowsLeaves::lane());
    c.jz(done);
    leaves_.storage().begin_partial(RowsLeaves::count());
    partial();
    c.L(done);
  }

  void sums_of_rows() {
    VectorCode& c = code_;
    Xbyak::Label row;
    c.mov(c.rax, field(offsetof(RowsCall, rows)));
    c.mov(c.stack_word(rows_), c.rax);
    c.L(row);
    leaves_.start_row();
    each_sum(unroll_, [&](std::size_t, int, const Vec& sum) { c.vxorps(sum, sum, sum); });
    all_lanes(
        [&](int vectors) {
          for (int v = 0; v < vectors; ++v) vector(v, false);
        },
        [&] { vector(0, true); });
    each_sum(unroll_, [&](std::size_t root, int v, const Vec& sum) {
      if (v > 0) c.vaddps(sums_.sum(root, 0), sums_.sum(root, 0), sum);
    });
    each_sum(1, [&](std::size_t root, int, const Vec& sum) {
      const auto to = c.ptr[leaves_.output_pointer() + static_cast<int>(4 * kSumLanes * root)];
      c.vaddps(sum, sum, to);
      c.vmovups(to, sum);
    });
    leaves_.next_row();
    c.xor_(RowsLeaves::lane().cvt32(), RowsLeaves::lane().cvt32());
    c.dec(c.stack_word(rows_));
    c.jnz(row);
  }

  void sums_of_lanes() {
    all_lanes([&](int vectors) { column(vectors, false); }, [&] { column(1, true); });
  }

  /// The sums of some lanes over all rows.
  void column(int vectors, bool partial) {
    VectorCode& c = code_;
    Xbyak::Label row;
    move_sums(vectors, [&](const Vec& sum, const Xbyak::Address& at) { c.vmovups(sum, at); });
    leaves_.rewind();
    c.mov(c.rax, field(offsetof(RowsCall, rows)));
    c.mov(c.stack_word(rows_), c.rax);
    c.align(32);
    c.L(row);
    leaves_.start_row();
    for (int v = 0; v < vectors; ++v) vector(v, partial);
    leaves_.next_row();
    c.dec(c.stack_word(rows_));
    c.jnz(row);
    move_sums(vectors, [&](const Vec& sum, const Xbyak::Address& at) { c.vmovups(at, sum); });
  }

  /// Between memory and registers. The call is in its register again afterwards.
  template <typename F>
  void move_sums(int vectors, const F& move) {
    VectorCode& c = code_;
    c.mov(RowsLeaves::call(), c.stack_word(call_));
    c.mov(c.rax, field(offsetof(RowsCall, output)));
    for (std::size_t root = 0; root < body_.roots.size(); ++root) {
      if (root > 0) c.add(c.rax, field(offsetof(RowsCall, output_step)));
      for (int v = 0; v < vectors; ++v)
        move(sums_.sum(root, v), c.ptr[c.rax + RowsLeaves::lane() * 4 + v * c.bytes()]);
    }
  }

  const SumsSpec& spec_;
  Expr body_;
  VectorCode code_;
  RowsLeaves leaves_;
  int unroll_;
  SumsLeaves sums_;
  int call_ = 0, rows_ = 0, lanes_ = 0;
};

}  // namespace

std::vector<std::byte> emit_sums(const SumsSpec& spec) { return SumsEmitter(spec).emit(); }

}  // namespace fuseplan::cpu
