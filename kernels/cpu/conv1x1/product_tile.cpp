// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/product_tile.hpp"

#include "base/status.hpp"
#include "kernels/cpu/emit/tile_finisher.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

const Xbyak::Reg64 kCall = rdi, kVectors = r8, kScalars = r9;  // of the tile
const Xbyak::Reg64 kVector = rsi, kScalar = rdx, kLeft = rcx;  // in the loop over the depth
const Xbyak::Reg64 kAhead = rax;  // there: what the caches are asked for
const Xbyak::Reg64 kTail = rcx;   // afterwards: lanes of a partial vector
const Xbyak::Reg64 kPointers[] = {r10, r11, rbx, r12, r13, r14, r15};

class ProductEmitter {
 public:
  explicit ProductEmitter(const ProductSpec& spec)
      : spec_(spec),
        code_(spec.loop.isa),
        storage_(code_, {rdx, rax, rsi}),
        loop_(code_, storage_, spec_.loop, {kVector, kScalar, kLeft, kAhead, kAhead}),
        pointers_(code_, spec_.finish, kPointers),
        finisher_(code_, spec_.finish, pointers_, storage_) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    Xbyak::Label tile;
    c.enter();
    const int left = c.reserve_words(2);
    next_piece_ = left + 1;
    start(left);
    c.align(32);
    c.L(tile);
    expect();
    sum();
    finish();
    next_tile();
    c.dec(c.stack_word(left));
    c.jnz(tile);
    c.leave();
    storage_.emit_tables();
    return c.finish();
  }

 private:
  TilePlace place(std::int64_t row, std::int64_t lane) const {
    if (spec_.along_lanes) return {.channel = row, .column = lane};
    return {.channel = lane, .column = row};
  }

  void read(const Xbyak::Reg64& d, std::size_t offset) {
    code_.mov(d, ptr[kCall + static_cast<int>(offset)]);
  }

  void start(int left) {
    VectorCode& c = code_;
    read(rax, offsetof(ProductCall, tiles));
    c.mov(c.stack_word(left), rax);
    read(kVectors, offsetof(ProductCall, vectors));
    read(kScalars, offsetof(ProductCall, scalars));
    if (spec_.slice > 0) start_next_piece();
    read(rcx, offsetof(ProductCall, chain));
    pointers_.read(rcx);
    if (!spec_.loop.is_partial()) return;
    c.mov(kTail, spec_.loop.tail);
    storage_.begin_partial(kTail, spec_.loop.tail);
  }

  void start_next_piece() {
    read(rax, offsetof(ProductCall, next_piece));
    code_.mov(rcx, spec_.first_slice * spec_.slice);
    code_.add(rax, rcx);
    code_.mov(code_.stack_word(next_piece_), rax);
  }

  void start_ahead() {
    const auto tile = static_cast<int>(spec_.loop.rows * spec_.loop.scalars.row);
    if (spec_.slice > 0)
      code_.mov(kAhead, code_.stack_word(next_piece_));
    else
      code_.lea(kAhead, ptr[kScalars + tile]);
  }

  void expect() {
    std::vector<TilePlace> tile;
    for (int row = 0; row < spec_.loop.rows; ++row)
      for (int v = 0; v < spec_.loop.vectors; ++v) tile.push_back(place(row, v * code_.lanes()));
    if (spec_.prefetch_output) pointers_.expect_output(tile);
    pointers_.expect_elements(tile);
  }

  void sum() {
    VectorCode& c = code_;
    loop_.take_registers();
    loop_.clear();
    c.mov(kVector, kVectors);
    c.mov(kScalar, kScalars);
    const bool asks = spec_.loop.ahead_lines() > 0;
    if (asks) start_ahead();
    const bool guarded = spec_.loop.is_partial() && spec_.guarded_vectors;
    const VectorTerm term{.whole = spec_.loop.vectors - (guarded ? 1 : 0),
                          .partial = guarded,
                          .prefetch = spec_.prefetch_vectors};
    loop_.emit({&term, 1});
    if (asks && spec_.slice > 0) c.mov(c.stack_word(next_piece_), kAhead);
    loop_.give_operands();
  }

  void finish() {
    const LoopSpec& loop = spec_.loop;
    std::vector<TileSum> tile;
    const auto add = [&](int row, int v) {
      tile.push_back({loop_.sum(row, v), place(row, v * code_.lanes()),
                      spec_.loop.is_partial() && v + 1 == loop.vectors});
    };
    if (loop.is_partial()) code_.mov(kTail, loop.tail);
    const int outer = spec_.along_lanes ? loop.rows : loop.vectors;
    const int inner = spec_.along_lanes ? loop.vectors : loop.rows;
    for (int i = 0; i < outer; ++i)
      for (int j = 0; j < inner; ++j) spec_.along_lanes ? add(i, j) : add(j, i);
    finisher_.finish(tile);
  }

  void advance(const Xbyak::Reg64& pointer, std::int64_t bytes) {
    if (bytes != 0) code_.add(pointer, static_cast<int>(bytes));
  }

  void next_tile() {
    const LoopSpec& loop = spec_.loop;
    const int lanes = loop.vectors * code_.lanes();
    advance(spec_.along_lanes ? kVectors : kScalars, spec_.tile_step);
    pointers_.move(spec_.along_lanes ? place(0, lanes) : place(loop.rows, 0));
  }

  const ProductSpec& spec_;
  VectorCode code_;
  Storage storage_;
  ProductLoop loop_;
  ChainPointers pointers_;
  TileFinisher finisher_;
  int next_piece_ = 0;  ///< word of the stack: what to ask for next
};

}  // namespace

std::vector<std::byte> emit_product(const ProductSpec& spec) {
  require(product_fits(spec.loop.isa, spec.loop.rows, spec.loop.vectors), Status::InternalError,
          "a tile of {} rows x {} vectors does not fit the registers", spec.loop.rows,
          spec.loop.vectors);
  require(spec.slice == 0 || !spec.prefetch_scalars, Status::InternalError,
          "a kernel asks for weights or for scalars");
  return ProductEmitter(spec).emit();
}

}  // namespace fuseplan::cpu
