// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <vector>

#include "expr/expr.hpp"
#include "support/element.hpp"
#include "support/random.hpp"

namespace fuseplan::test {

inline constexpr std::size_t kPage = 4096;

/// Memory that ends, or starts, where no byte may be touched.
class GuardedBuffer {
 public:
  GuardedBuffer(std::size_t bytes, bool at_end) : pages_((bytes + kPage - 1) / kPage + 2) {
    base_ = static_cast<std::byte*>(::mmap(nullptr, pages_ * kPage, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base_, kPage, PROT_NONE);
    ::mprotect(base_ + (pages_ - 1) * kPage, kPage, PROT_NONE);
    data_ = at_end ? base_ + (pages_ - 1) * kPage - bytes : base_ + kPage;
    std::memset(base_ + kPage, 0xb7, (pages_ - 2) * kPage);
  }
  ~GuardedBuffer() { ::munmap(base_, pages_ * kPage); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  std::byte* data() const { return data_; }
  /// Every byte between the guards.
  std::vector<std::byte> contents() const { return {base_ + kPage, base_ + (pages_ - 1) * kPage}; }
  std::size_t offset() const { return static_cast<std::size_t>(data_ - base_) - kPage; }

 private:
  std::size_t pages_;
  std::byte *base_, *data_;
};

/// Rows of lanes with gaps between the rows, or the other way round, filled with small integers,
/// which every type holds.
struct RowsTensor {
  RowsTensor(DType type, std::int64_t rows, std::int64_t lanes, bool gaps, Random& random,
             bool turned = false)
      : dtype(type),
        size(static_cast<std::int64_t>(fuseplan::size_of(type))),
        step(turned ? size : (lanes + (gaps ? random.between(0, 5) : 0)) * size),
        lane_step(turned ? (rows + random.between(1, 5)) * size : size),
        buffer(static_cast<std::size_t>((rows - 1) * step + (lanes - 1) * lane_step + size),
               random.between(0, 1) != 0) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t l = 0; l < lanes; ++l)
        set(r, l, static_cast<double>(random.between(-40, 40)));
  }
  std::byte* at(std::int64_t row, std::int64_t lane) const {
    return buffer.data() + row * step + lane * lane_step;
  }
  double get(std::int64_t row, std::int64_t lane) const {
    return load_element(static_cast<Element>(dtype), at(row, lane), 0);
  }
  /// For the kernel: bytes from lane to lane where they are not contiguous, or 0.
  std::int64_t lane_stride() const { return lane_step == size ? 0 : lane_step; }
  void set(std::int64_t row, std::int64_t lane, double value) {
    store_element(static_cast<Element>(dtype), at(row, lane), 0, value);
  }

  DType dtype;
  std::int64_t size, step, lane_step;
  GuardedBuffer buffer;
};

inline constexpr int kChannels = 3, kScalars = 2;

/// A random expression whose f32 results are exact: integers, held small by clamps, and functions
/// used for nothing but their sign.
class ExactExpr {
 public:
  ExactExpr(Random& random, int nodes, int elements, bool previous = true) : random_(random) {
    add(graph_.leaf(Leaf::input));
    if (previous) add(graph_.leaf(Leaf::previous));
    for (int i = 0; i < kChannels; ++i) add(graph_.leaf(Leaf::channel, i));
    for (int i = 0; i < kScalars; ++i) add(graph_.leaf(Leaf::scalar, i));
    for (int i = 0; i < elements; ++i) add(graph_.leaf(Leaf::element, i));
    for (const double value : {0.0, 1.0, -3.0, 12.0}) add(graph_.constant(value));
    half_ = graph_.constant(0.5);
    low_ = graph_.constant(-100);
    high_ = graph_.constant(100);
    while (static_cast<int>(values_.size()) < nodes) add(step());
    Ref sum = values_[0];
    for (std::size_t i = 1; i < values_.size(); i += 3)
      sum = clamped(graph_.call(Fn::add_, sum, values_[i]));
    root_ = sum;
  }
  Expr expr() const { return compact({graph_, {root_}}); }
  /// Several results, each a value or a product of two, all whole numbers up to 10000.
  Expr roots(int count) {
    Expr expr{graph_, {}};
    for (int i = 0; i < count; ++i) {
      const Ref value = random_.between(0, 1) ? root_ : any();
      expr.roots.push_back(random_.between(0, 1) ? value : expr.graph.call(Fn::mul_, value, any()));
    }
    return compact(expr);
  }

 private:
  void add(Ref ref) { values_.push_back(ref); }
  Ref any() {
    return values_[static_cast<std::size_t>(
        random_.between(0, static_cast<std::int64_t>(values_.size()) - 1))];
  }
  Ref clamped(Ref value) {
    return graph_.call(Fn::max_, low_, graph_.call(Fn::min_, high_, value));
  }
  Ref step() {
    switch (random_.between(0, 9)) {
      case 0:
        return clamped(graph_.call(Fn::sub_, any(), any()));
      case 1:
        return graph_.call(random_.between(0, 1) ? Fn::neg_ : Fn::abs_, any());
      case 2:
        return graph_.call(random_.between(0, 1) ? Fn::min_ : Fn::max_, any(), any());
      case 3:
        return graph_.call(Fn::select_, any(), any(), any());
      case 4:
        return graph_.call(Fn::select_, sign(), any(), any());
      case 5:
        return clamped(graph_.call(Fn::mul_, any(), any()));
      case 6:
        return clamped(graph_.call(Fn::add_, any(), any()));
      default:
        return clamped(graph_.call(Fn::fma_, any(), any(), any()));
    }
  }
  /// Far from 0, with a sign that does not hang on rounding.
  Ref sign() {
    const Ref x = graph_.call(Fn::add_, any(), half_);
    const Ref positive = graph_.call(Fn::abs_, x);
    switch (random_.between(0, 5)) {
      case 0:
        return graph_.call(Fn::tanh_, x);
      case 1:
        return graph_.call(Fn::erf_, x);
      case 2:
        return graph_.call(Fn::expm1_, x);
      case 3:
        return graph_.call(Fn::log_, positive);
      case 4:
        return graph_.call(Fn::sub_, graph_.call(Fn::logistic_, x), half_);
      default:
        return graph_.call(Fn::sub_, graph_.call(Fn::pow_, positive, x), graph_.constant(0.75));
    }
  }

  Random& random_;
  Graph graph_;
  std::vector<Ref> values_;
  Ref half_, low_, high_, root_;
};

inline DType any_dtype(Random& random) {
  constexpr std::array kTypes{DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8};
  return kTypes[static_cast<std::size_t>(random.between(0, 4))];
}

}  // namespace fuseplan::test
