// SPDX-License-Identifier: MIT
#include "kernels/cpu/direct/tile_finish.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/chain_frame.hpp"

namespace fuseplan::cpu {
namespace {

using namespace Xbyak::util;

const Xbyak::Reg64 kElements[] = {r8, r9, r10, r11};
const Xbyak::Reg64& kOutput = rcx;
constexpr int kLongBody = 12;  // 28 copies of it are then about 3 KB
constexpr std::size_t kMostKept = 8;

/// Unlike ==, tells -0 from 0.
bool same_leaf(const Node& a, const Node& b) {
  return a == b && std::signbit(a.value) == std::signbit(b.value);
}

bool is_kept(const Node& node) {
  return node.leaf == Leaf::channel || node.leaf == Leaf::scalar || node.leaf == Leaf::constant;
}

std::vector<Node> distinct(const Expr& body, bool (*wanted)(const Node&)) {
  std::vector<Node> leaves;
  for (Ref i = 0; i < body.graph.size(); ++i) {
    const Node& node = body.graph[i];
    const auto same = [&](const Node& known) { return same_leaf(known, node); };
    if (wanted(node) && std::ranges::none_of(leaves, same)) leaves.push_back(node);
  }
  return leaves;
}

std::vector<Node> kept_leaves(const Expr& body) { return distinct(body, is_kept); }
std::vector<Node> element_leaves(const Expr& body) {
  return distinct(body, [](const Node& node) { return node.leaf == Leaf::element; });
}

int field(std::size_t offset) { return static_cast<int>(offset); }

}  // namespace

bool finishes_in_registers(const RowsSpec& rows) {
  const auto elements = element_leaves(rows.body);
  return rows.isa == Isa::avx512 && rows.lanes_are_channels && work_of(rows.body) <= kLongBody &&
         kept_leaves(rows.body).size() <= kMostKept && elements.size() <= std::size(kElements) &&
         std::ranges::all_of(elements, [&](const Node& leaf) {
           return rows.elements.at(static_cast<std::size_t>(leaf.index)).per_lane;
         });
}

SumsFinisher::SumsFinisher(VectorCode& code, const TileFinish& finish, const Xbyak::Reg64& call,
                           const Xbyak::Reg64& spill)
    : code_(code),
      finish_(finish),
      call_(call),
      spill_(spill),
      storage_(code, {rax, rax, rax}, finish.rows.bf16),
      sum_(code.vec(0)) {}

void SumsFinisher::emit(int pixels, int vectors) {
  const int spilled = take_registers(pixels, vectors);
  read_streams();
  for (int vector = 0; vector < vectors; ++vector) {
    fill_kept(vector);
    for (int pixel = 0; pixel < pixels; ++pixel) {
      const int order = vector * pixels + pixel, home = pixel * vectors + vector;
      if (order < pixels * vectors - spilled) {
        sum_ = Source(code_.vec(home));
        finish_sum(pixel, vector);
        code_.vectors().give(home);
      } else {
        sum_ = Source(ptr[spill_ + home * code_.bytes()]);
        finish_sum(pixel, vector);
      }
    }
  }
}

/// What the body needs shows when it is emitted once for nothing.
int SumsFinisher::registers_of_body() const {
  VectorCode code(finish_.rows.isa);
  SumsFinisher trial(code, finish_, call_, spill_);
  trial.sum_ = Source(code.vec(code.vectors().take()));
  trial.keep();
  trial.read_streams();
  const std::size_t before = code.vectors().free();
  trial.finish_sum(0, 0);
  return static_cast<int>(before - code.vectors().lowest());
}

void SumsFinisher::keep() {
  for (const Node& leaf : kept_leaves(finish_.rows.body))
    kept_.push_back({leaf, code_.vec(code_.vectors().take())});
}

/// The sums that are finished last wait in memory if there is too little room besides them. Returns
/// how many do.
int SumsFinisher::take_registers(int pixels, int vectors) {
  RegisterPool& pool = code_.vectors();
  const int sums = pixels * vectors, all = static_cast<int>(pool.free());
  const int wanted = registers_of_body() + static_cast<int>(kept_leaves(finish_.rows.body).size());
  const int spilled = std::clamp(sums + wanted - all, 0, sums);
  for (int i = 0; i < all; ++i) pool.take();
  for (int i = all - 1; i >= sums; --i) pool.give(i);
  for (int order = sums - spilled; order < sums; ++order) {
    const int home = order % pixels * vectors + order / pixels;
    code_.vmovups(ptr[spill_ + home * code_.bytes()], code_.vec(home));
    pool.give(home);
  }
  keep();
  return spilled;
}

void SumsFinisher::read_streams() {
  code_.mov(kOutput, ptr[call_ + field(offsetof(RowsCall, output))]);
  for (const Node& leaf : element_leaves(finish_.rows.body)) {
    const Xbyak::Reg64& pointer = kElements[streams_.size()];
    code_.mov(rax, ptr[call_ + field(offsetof(RowsCall, elements))]);
    code_.mov(pointer, ptr[rax + 8 * leaf.index]);
    streams_.push_back({leaf.index, pointer});
  }
}

void SumsFinisher::fill_kept(int vector) {
  for (const Kept& kept : kept_) {
    if (kept.leaf.leaf == Leaf::channel) {
      code_.imul(rax, ptr[call_ + field(offsetof(RowsCall, channel_stride_bytes))],
                 kept.leaf.index);
      code_.add(rax, ptr[call_ + field(offsetof(RowsCall, channels))]);
      code_.vmovups(kept.reg, ptr[rax + vector * code_.bytes()]);
    } else if (vector > 0) {
      continue;
    } else if (kept.leaf.leaf == Leaf::scalar) {
      code_.mov(rax, ptr[call_ + field(offsetof(RowsCall, uniforms))]);
      code_.vbroadcastss(kept.reg, ptr[rax + 4 * kept.leaf.index]);
    } else {
      code_.load(kept.reg, static_cast<float>(kept.leaf.value));
    }
  }
}

void SumsFinisher::finish_sum(int pixel, int vector) {
  pixel_ = pixel;
  vector_ = vector;
  emit_expr(code_, finish_.rows.body, *this, [&](std::size_t, const Vec& value) {
    storage_.store(output(), value, finish_.rows.output);
  });
}

Xbyak::Address SumsFinisher::at(const Xbyak::Reg64& pointer, std::int64_t step, DType dtype) const {
  const auto lane = static_cast<std::int64_t>(size_of(dtype)) * code_.lanes() * vector_;
  return ptr[pointer + static_cast<int>(pixel_ * step + lane)];
}

Xbyak::Address SumsFinisher::output() const {
  return at(kOutput, finish_.output_step, finish_.rows.output);
}

/// Where an element or the previous output lies, and as what.
std::pair<Xbyak::Address, DType> SumsFinisher::stream(const Node& leaf) const {
  if (leaf.leaf == Leaf::previous) return {output(), finish_.rows.output};
  const auto index = static_cast<std::size_t>(leaf.index);
  const auto known = std::ranges::find(streams_, leaf.index, &Stream::index);
  const DType dtype = finish_.rows.elements.at(index).dtype;
  return {at(known->pointer, finish_.element_steps.at(index), dtype), dtype};
}

std::optional<Source> SumsFinisher::find(const Node& leaf) {
  if (leaf.leaf == Leaf::input) return sum_;
  for (const Kept& kept : kept_)
    if (same_leaf(kept.leaf, leaf)) return Source(kept.reg);
  const auto [address, dtype] = stream(leaf);
  if (dtype != DType::f32) return std::nullopt;
  return Source(address);
}

void SumsFinisher::load(const Vec& d, const Node& leaf) {
  const auto [address, dtype] = stream(leaf);
  storage_.load(d, address, dtype);
}

}  // namespace fuseplan::cpu
