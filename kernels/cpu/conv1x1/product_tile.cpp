// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/product_tile.hpp"

#include <algorithm>
#include <optional>

#include "base/integer.hpp"
#include "base/status.hpp"
#include "kernels/cpu/emit/tile_finisher.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

constexpr int kRegisters = 32, kLanes = 16, kBytes = 64;
const Xbyak::Reg64 kCall = rdi, kVectors = r8, kScalars = r9;  // of the tile
const Xbyak::Reg64 kVector = rsi, kScalar = rdx, kLeft = rcx;  // in the loop over the depth
const Xbyak::Reg64 kAhead = rax;  // there: what the caches are asked for
const Xbyak::Reg64 kPointers[] = {r10, r11, rbx, r12, r13, r14, r15};

class ProductEmitter {
 public:
  ProductEmitter(const ProductSpec& spec, FinishNeeds& needs)
      : spec_(spec),
        code_(Isa::avx512),
        pointers_(code_, spec_.finish, kPointers),
        storage_(code_, {rdx, rax, rcx}),
        finisher_(code_, spec_.finish, pointers_, storage_, &needs) {}

  std::vector<std::byte> emit() {
    VectorCode& c = code_;
    Xbyak::Label tile;
    c.enter();
    const int left = c.reserve_words(2);
    next_piece_ = left + 1;
    start(left);
    c.align(32);
    c.L(tile);
    if (spec_.prefetch_output) prefetch_output();
    sum();
    finish();
    next_tile();
    c.dec(c.stack_word(left));
    c.jnz(tile);
    c.leave();
    return c.finish();
  }

 private:
  bool is_partial() const { return spec_.tail < kLanes; }
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
    if (!is_partial()) return;
    c.mov(ecx, spec_.tail);
    storage_.begin_partial(rcx);
  }

  void start_next_piece() {
    read(rax, offsetof(ProductCall, next_piece));
    code_.mov(rcx, spec_.first_slice * spec_.slice);
    code_.add(rax, rcx);
    code_.mov(code_.stack_word(next_piece_), rax);
  }

  /// What the loop asks for: so many lines each turn, spread evenly over its depths.
  struct Ahead {
    std::int64_t lines = 0;
    bool first_level = false;
  };
  Ahead ahead(std::int64_t turns) const {
    constexpr std::int64_t kFirstLevel = 16 << 10;
    const std::int64_t scalars = spec_.prefetch_scalars ? spec_.rows * spec_.scalar_row : 0;
    const std::int64_t bytes = std::max(scalars, spec_.slice);
    return {ceil_div(ceil_div(bytes, kBytes), turns), scalars > 0 && scalars <= kFirstLevel};
  }

  void start_ahead() {
    if (spec_.slice > 0)
      code_.mov(kAhead, code_.stack_word(next_piece_));
    else
      code_.lea(kAhead, ptr[kScalars + static_cast<int>(spec_.rows * spec_.scalar_row)]);
  }

  void prefetch(const Ahead& ahead, int depth, std::int64_t turn) {
    const std::int64_t end = ahead.lines * (depth + 1) / turn;
    for (std::int64_t line = ahead.lines * depth / turn; line < end; ++line) {
      const Xbyak::Address at = ptr[kAhead + static_cast<int>(line * kBytes)];
      ahead.first_level ? code_.prefetcht0(at) : code_.prefetcht1(at);
    }
  }

  // A line that is to be written costs a trip to the cache that has it; the sum takes as long.
  void prefetch_output() {
    const int line = kBytes / static_cast<int>(size_of(spec_.finish.output.dtype));
    for (int row = 0; row < spec_.rows; ++row)
      for (int lane = 0; lane < spec_.vectors * kLanes; lane += line)
        code_.prefetchw(pointers_.output(place(row, lane)));
  }

  void take_registers() {
    const auto take = [&](int count) {
      std::vector<int> taken;
      for (int i = 0; i < count; ++i) taken.push_back(code_.vectors().take());
      return taken;
    };
    sums_ = take(spec_.rows * spec_.vectors);
    vectors_ = take(spec_.vectors);
    scalars_ = take(std::min<int>(2, static_cast<int>(code_.vectors().free())));
  }

  void sum() {
    VectorCode& c = code_;
    take_registers();
    for (const int sum : sums_) c.clear(sum);
    c.mov(kVector, kVectors);
    c.mov(kScalar, kScalars);
    const std::int64_t turn = unroll(), turns = spec_.depth / turn;
    if (turns > 0) {
      const Ahead ahead = this->ahead(turns);
      Xbyak::Label next;
      if (ahead.lines > 0) start_ahead();
      if (turns > 1) c.mov(kLeft, turns);
      c.align(32);
      c.L(next);
      for (int d = 0; d < turn; ++d) {
        prefetch(ahead, d, turn);
        products(d);
      }
      if (ahead.lines > 0) c.add(kAhead, static_cast<int>(ahead.lines * kBytes));
      if (turns > 1 || spec_.depth % turn != 0) {
        c.add(kVector, static_cast<int>(turn * spec_.vector_depth));
        c.add(kScalar, static_cast<int>(turn * spec_.scalar_depth));
      }
      if (turns > 1) {
        c.dec(kLeft);
        c.jnz(next);
      }
      if (spec_.slice > 0) c.mov(c.stack_word(next_piece_), kAhead);
    }
    for (int d = 0; d < spec_.depth % turn; ++d) products(d);
    for (const int taken : vectors_) c.vectors().give(taken);
    for (const int taken : scalars_) c.vectors().give(taken);
  }

  // Enough work in a turn to hide the loop.
  std::int64_t unroll() const {
    constexpr int kProductsPerTurn = 50;
    const int products = spec_.rows * spec_.vectors;
    return std::clamp((kProductsPerTurn + products - 1) / products, 1, 16);
  }

  /// Half a vector costs half where 512 bits are worked off in halves.
  Vec narrow(int index, int vector) const {
    if (vector == spec_.vectors - 1 && spec_.tail <= kLanes / 2) return Xbyak::Ymm(index);
    return Xbyak::Zmm(index);
  }

  void load_vectors(int depth) {
    const auto at = static_cast<int>(depth * spec_.vector_depth);
    for (int v = 0; v < spec_.vectors; ++v) {
      const Vec d = narrow(vectors_[static_cast<std::size_t>(v)], v);
      const Xbyak::Address from = ptr[kVector + at + v * kBytes];
      if (v == spec_.vectors - 1 && is_partial() && spec_.guarded_vectors) {
        code_.vmovups(d | k1 | code_.T_z, from);
      } else {
        code_.vmovups(d, from);
      }
      if (spec_.along_lanes)  // of the next tile: its channels lie in as many pages
        code_.prefetcht0(ptr[kVector + at + (spec_.vectors + v) * kBytes]);
    }
    if (!spec_.prefetch_depths) return;
    for (int row = 2 * spec_.rows - 1; row >= spec_.rows; row -= kLanes) {  // of the next tile
      const std::int64_t offset = depth * spec_.scalar_depth + row * spec_.scalar_row;
      code_.prefetcht0(ptr[kScalar + static_cast<int>(offset)]);
    }
  }

  void products(int depth) {
    load_vectors(depth);
    for (int row = 0; row < spec_.rows; ++row) {
      const Xbyak::RegExp at =
          kScalar + static_cast<int>(depth * spec_.scalar_depth + row * spec_.scalar_row);
      const bool embedded = product_embeds(spec_.rows, spec_.vectors);
      std::optional<int> scalar;
      if (!embedded) {
        scalar = scalars_[static_cast<std::size_t>(row) % scalars_.size()];
        code_.vbroadcastss(Xbyak::Zmm(*scalar), dword[at]);
      }
      for (int v = 0; v < spec_.vectors; ++v) {
        const Vec d = narrow(sums_[static_cast<std::size_t>(row * spec_.vectors + v)], v);
        const Vec vector = narrow(vectors_[static_cast<std::size_t>(v)], v);
        if (embedded) {
          code_.vfmadd231ps(d, vector, ptr_b[at]);
        } else {
          code_.vfmadd231ps(d, vector, narrow(*scalar, v));
        }
      }
    }
  }

  void finish() {
    std::vector<TileSum> tile;
    const auto add = [&](int row, int v) {
      tile.push_back({sums_[static_cast<std::size_t>(row * spec_.vectors + v)],
                      place(row, v * kLanes), is_partial() && v + 1 == spec_.vectors});
    };
    const int outer = spec_.along_lanes ? spec_.rows : spec_.vectors;
    const int inner = spec_.along_lanes ? spec_.vectors : spec_.rows;
    for (int i = 0; i < outer; ++i)
      for (int j = 0; j < inner; ++j) spec_.along_lanes ? add(i, j) : add(j, i);
    finisher_.finish(tile);
  }

  void advance(const Xbyak::Reg64& pointer, std::int64_t bytes) {
    if (bytes != 0) code_.add(pointer, static_cast<int>(bytes));
  }

  void next_tile() {
    const int lanes = spec_.vectors * kLanes;
    if (spec_.along_lanes) {
      advance(kVectors, 4 * lanes);
    } else {
      advance(kScalars, spec_.rows * spec_.scalar_row);
    }
    pointers_.move(spec_.along_lanes ? place(0, lanes) : place(spec_.rows, 0));
  }

  const ProductSpec& spec_;
  VectorCode code_;
  ChainPointers pointers_;
  Storage storage_;
  TileFinisher finisher_;
  std::vector<int> sums_, vectors_, scalars_;
  int next_piece_ = 0;  ///< word of the stack: what to ask for next
};

}  // namespace

bool product_fits(int rows, int vectors) {
  return rows > 0 && vectors > 0 && (rows + 1) * vectors <= kRegisters;
}

bool product_embeds(int rows, int vectors) {
  return vectors == 1 || (rows + 1) * vectors >= kRegisters;
}

std::vector<std::byte> emit_product(const ProductSpec& spec, FinishNeeds& needs) {
  require(product_fits(spec.rows, spec.vectors), Status::InternalError,
          "a tile of {} rows x {} vectors does not fit the registers", spec.rows, spec.vectors);
  require(spec.slice == 0 || !spec.prefetch_scalars, Status::InternalError,
          "a kernel asks for weights or for scalars");
  return ProductEmitter(spec, needs).emit();
}

}  // namespace fuseplan::cpu
