// SPDX-License-Identifier: MIT
#include "kernels/cpu/conv1x1/product_loop.hpp"

#include <algorithm>
#include <optional>

#include "base/integer.hpp"

namespace fuseplan::cpu {
namespace {

constexpr int kLine = 64;

}  // namespace

bool product_fits(Isa isa, int rows, int vectors) {
  if (isa == Isa::portable || rows <= 0 || vectors <= 0) return false;
  const int scalars = isa == Isa::avx512 ? 0 : 1;
  return (rows + 1) * vectors + scalars <= VectorCode::count(isa);
}

bool product_embeds(Isa isa, int rows, int vectors) {
  return isa == Isa::avx512 && (vectors == 1 || (rows + 1) * vectors >= VectorCode::count(isa));
}

int LoopSpec::unroll() const {
  const int products = rows * vectors;
  return std::clamp((turn + products - 1) / products, 1, 16);
}

std::int64_t LoopSpec::lines_of(std::int64_t bytes) const {
  return turns() == 0 ? 0 : ceil_div(ceil_div(bytes, kLine), turns());
}

void ProductLoop::take_registers() {
  const auto take = [&](int count) {
    std::vector<int> taken;
    for (int i = 0; i < count; ++i) taken.push_back(code_.vectors().take());
    return taken;
  };
  sums_ = take(spec_.rows * spec_.vectors);
  vectors_ = take(spec_.vectors);
  scalars_ = take(std::min<int>(2, static_cast<int>(code_.vectors().free())));
}

void ProductLoop::give_operands() {
  for (const int taken : vectors_) code_.vectors().give(taken);
  for (const int taken : scalars_) code_.vectors().give(taken);
}

void ProductLoop::clear() {
  for (const int sum : sums_) code_.clear(sum);
}

void ProductLoop::emit(std::span<const VectorTerm> terms, const ScalarSteps& scalars) {
  VectorCode& c = code_;
  scalars_at_ = scalars;
  const int turn = spec_.unroll();
  const std::int64_t turns = spec_.turns(), rest = spec_.depth % turn;
  if (turns > 0) {
    Xbyak::Label next;
    if (turns > 1) c.mov(at_.left, turns);
    c.align(32);
    c.L(next);
    for (int d = 0; d < turn; ++d) {
      prefetch(d);
      products(d, terms);
    }
    const auto move = [&](const Xbyak::Reg64& pointer, std::int64_t lines) {
      if (lines > 0) c.add(pointer, static_cast<int>(lines * kLine));
    };
    move(at_.ahead, spec_.ahead_lines());
    move(at_.other_ahead, spec_.other_ahead_lines());
    if (turns > 1 || rest != 0) {
      c.add(at_.vector, static_cast<int>(turn * spec_.vector_depth));
      c.add(at_.scalar, static_cast<int>(turn * scalars_at_.depth));
    }
    if (turns > 1) {
      c.dec(at_.left);
      c.jnz(next);
    }
  }
  for (int d = 0; d < rest; ++d) products(d, terms);
}

void ProductLoop::prefetch(int depth) {
  ask(at_.ahead, spec_.ahead_lines(), depth);
  ask(at_.other_ahead, spec_.other_ahead_lines(), depth);
}

/// The turn's lines, spread evenly over its depths.
void ProductLoop::ask(const Xbyak::Reg64& from, std::int64_t lines, int depth) {
  const std::int64_t turn = spec_.unroll();
  for (std::int64_t line = lines * depth / turn; line < lines * (depth + 1) / turn; ++line) {
    const Xbyak::Address at = Xbyak::util::ptr[from + static_cast<int>(line * kLine)];
    spec_.ahead_to_first_level ? code_.prefetcht0(at) : code_.prefetcht1(at);
  }
}

/// Half a vector costs half where 512 bits are worked off in halves.
Vec ProductLoop::narrow(int index, int vector) const {
  if (vector == spec_.vectors - 1 && 2 * spec_.tail <= code_.lanes() && code_.is_avx512())
    return Xbyak::Ymm(index);
  return code_.vec(index);
}

void ProductLoop::load_vector(int vector, std::int64_t at, const VectorTerm& term, bool first) {
  const Vec d = narrow(vectors_[static_cast<std::size_t>(vector)], vector);
  const Xbyak::Address from = Xbyak::util::ptr[at_.vector + static_cast<int>(at)];
  const bool whole = vector < term.whole;
  if (!whole && (vector > term.whole || !term.partial)) {
    if (first) code_.clear(d.getIdx());
  } else if (first) {
    whole ? code_.vmovups(d, from) : storage_.load_partial(d, from, DType::f32);
  } else if (whole) {
    term.minus ? code_.vsubps(d, d, from) : code_.vaddps(d, d, from);
  } else {
    add_partial(d, from, term.minus);
  }
}

// AVX2 has no arithmetic under a mask. No product has its scalar yet.
void ProductLoop::add_partial(const Vec& d, const Xbyak::Address& from, bool minus) {
  if (code_.is_avx512()) {
    const Vec to = d | Xbyak::util::k1;
    return minus ? code_.vsubps(to, d, from) : code_.vaddps(to, d, from);
  }
  const Vec there = code_.vec(scalars_.front());
  storage_.load_partial(there, from, DType::f32);
  minus ? code_.vsubps(d, d, there) : code_.vaddps(d, d, there);
}

void ProductLoop::load_vectors(int depth, std::span<const VectorTerm> terms) {
  using Xbyak::util::ptr;
  for (int v = 0; v < spec_.vectors; ++v)
    for (const VectorTerm& term : terms) {
      const std::int64_t at = depth * spec_.vector_depth + term.offset + v * code_.bytes();
      load_vector(v, at, term, &term == &terms.front());
      if (term.prefetch)
        code_.prefetcht0(ptr[at_.vector + static_cast<int>(at) + spec_.vectors * code_.bytes()]);
    }
  if (!spec_.prefetch_depths) return;
  for (int row = 2 * spec_.rows - 1; row >= spec_.rows; row -= code_.lanes()) {
    const std::int64_t offset = depth * scalars_at_.depth + row * scalars_at_.row;
    code_.prefetcht0(ptr[at_.scalar + static_cast<int>(offset)]);
  }
}

void ProductLoop::products(int depth, std::span<const VectorTerm> terms) {
  using Xbyak::util::dword, Xbyak::util::ptr_b;
  load_vectors(depth, terms);
  const bool embedded = product_embeds(spec_.isa, spec_.rows, spec_.vectors);
  for (int row = 0; row < spec_.rows; ++row) {
    const Xbyak::RegExp at =
        at_.scalar + static_cast<int>(depth * scalars_at_.depth + row * scalars_at_.row);
    std::optional<int> scalar;
    if (!embedded) {
      scalar = scalars_[static_cast<std::size_t>(row) % scalars_.size()];
      code_.vbroadcastss(code_.vec(*scalar), dword[at]);
    }
    for (int v = 0; v < spec_.vectors; ++v) {
      const Vec d = narrow(sum(row, v), v);
      const Vec vector = narrow(vectors_[static_cast<std::size_t>(v)], v);
      if (embedded) {
        code_.vfmadd231ps(d, vector, ptr_b[at]);
      } else {
        code_.vfmadd231ps(d, vector, narrow(*scalar, v));
      }
    }
  }
}

}  // namespace fuseplan::cpu
