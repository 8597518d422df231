// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/tile_finisher.hpp"

#include <algorithm>

namespace fuseplan::cpu {
namespace {

constexpr int kMostWork = 16;

}  // namespace

bool finishes_in_registers(const Expr& body) { return work_of(body) <= kMostWork; }

// Channel values first: they change with the outer of the two loops in finish(), scalars never.
std::vector<Node> TileFinisher::keepable() const {
  std::vector<Node> leaves;
  for (const Leaf kind : {Leaf::channel, Leaf::scalar})
    for (Ref i = 0; i < spec_.body.graph.size(); ++i) {
      const Node& node = spec_.body.graph[i];
      if (node.leaf == kind && std::ranges::find(leaves, node) == leaves.end())
        leaves.push_back(node);
    }
  return leaves;
}

/// What the body takes, registers for `kept` leaves included. Shows when it is emitted for nothing.
TileFinisher::Need TileFinisher::need(std::span<const Node> kept) const {
  VectorCode code(Isa::avx512);
  Storage storage(code, {code.rdx, code.rax, code.rcx});
  TileFinisher trial(code, spec_, pointers_, storage);
  const std::size_t before = code.vectors().free() - 1;
  trial.sums_.emplace_back(code.vec(code.vectors().take()));
  for (const Node& leaf : kept) trial.kept_.push_back({leaf, code.vectors().take()});
  trial.rows_ = trial.vectors_ = 1;
  trial.finish_one(0, 0);
  if (partial_tile_) {
    trial.sums_[0] = code.vec(code.vectors().take());
    trial.partial_tile_ = true;
    trial.finish_one(0, 0);
  }
  return {before - code.vectors().lowest(), code.used_constants()};
}

void TileFinisher::spill() {
  const std::size_t least = std::min<std::size_t>(need({}).registers, kExprRegisters);
  for (auto sum = sums_.rbegin(); code_.vectors().free() < least; ++sum) {
    const Xbyak::Address slot = code_.slot(code_.take_slot());
    code_.vmovups(slot, sum->reg());
    code_.vectors().give(sum->reg().getIdx());
    *sum = Source(slot);
  }
}

void TileFinisher::plan() {
  spill();
  std::vector<Node> leaves;
  Need known = need(leaves);
  for (const Node& leaf : keepable()) {
    leaves.push_back(leaf);
    const Need more = need(leaves);
    if (more.registers > code_.vectors().free()) {
      leaves.pop_back();
      break;
    }
    known = more;
  }
  const std::size_t least = known.registers - leaves.size();
  for (const Node& leaf : leaves) kept_.push_back({leaf, code_.vectors().take()});
  for (const std::uint32_t constant : known.constants)
    if (code_.vectors().free() > least) code_.hoist(constant);
}

void TileFinisher::finish(std::span<const int> sums, int rows, int vectors, bool partial) {
  rows_ = rows;
  vectors_ = vectors;
  partial_tile_ = partial;
  for (const int sum : sums) sums_.emplace_back(code_.vec(sum));
  plan();
  load_kept(Leaf::scalar);
  const bool by_vector = spec_.lanes_are_channels;
  for (int outer = 0; outer < (by_vector ? vectors : rows); ++outer) {
    row_ = vector_ = outer;
    load_kept(Leaf::channel);
    for (int inner = 0; inner < (by_vector ? rows : vectors); ++inner)
      finish_one(by_vector ? inner : outer, by_vector ? outer : inner);
  }
  for (const Kept& kept : kept_) code_.vectors().give(kept.reg);
}

void TileFinisher::load_kept(Leaf leaf) {
  for (const Kept& kept : kept_)
    if (kept.leaf.leaf == leaf) load(code_.vec(kept.reg), kept.leaf);
}

void TileFinisher::finish_one(int row, int vector) {
  row_ = row;
  vector_ = vector;
  partial_ = partial_tile_ && vector == vectors_ - 1;
  emit_expr(code_, spec_.body, *this, [&](std::size_t, const Vec& value) {
    const Xbyak::Address to = at(pointers_.output, spec_.output_row, spec_.output);
    partial_ ? storage_.store_partial(to, value, spec_.output)
             : storage_.store(to, value, spec_.output);
  });
  if (sum().is_reg()) code_.vectors().give(sum().reg().getIdx());
}

const Source& TileFinisher::sum() const {
  return sums_[static_cast<std::size_t>(row_ * vectors_ + vector_)];
}

/// The current vector of a tensor that lies there by rows.
Xbyak::Address TileFinisher::at(const Xbyak::Reg64& base, std::int64_t row, DType dtype) const {
  const auto vector = static_cast<int>(size_of(dtype)) * code_.lanes();
  return code_.ptr[base + (static_cast<int>(row * row_) + vector * vector_)];
}

Xbyak::Address TileFinisher::channel(int root) const {
  const int lane = spec_.lanes_are_channels ? code_.bytes() * vector_ : 4 * row_;
  return code_.ptr[pointers_.channels + (static_cast<int>(spec_.channel_root * root) + lane)];
}

std::optional<Source> TileFinisher::find(const Node& leaf) {
  if (leaf.leaf == Leaf::input) return sum();
  for (const Kept& kept : kept_)
    if (kept.leaf == leaf) return Source(code_.vec(kept.reg));
  if (leaf.leaf == Leaf::channel && spec_.lanes_are_channels) return Source(channel(leaf.index));
  if (partial_) return std::nullopt;
  if (leaf.leaf == Leaf::previous && spec_.output == DType::f32)
    return Source(at(pointers_.output, spec_.output_row, spec_.output));
  if (leaf.leaf != Leaf::element) return std::nullopt;
  const auto number = static_cast<std::size_t>(leaf.index);
  const FinishSpec::Element& element = spec_.elements[number];
  if (element.dtype != DType::f32 || !element.per_lane) return std::nullopt;
  return Source(at(pointers_.elements[number], element.row, element.dtype));
}

void TileFinisher::load(const Vec& d, const Node& leaf) {
  if (leaf.leaf == Leaf::scalar)
    return code_.vbroadcastss(d, code_.ptr[pointers_.uniforms + 4 * leaf.index]);
  if (leaf.leaf == Leaf::channel)
    return spec_.lanes_are_channels ? code_.vmovups(d, channel(leaf.index))
                                    : code_.vbroadcastss(d, channel(leaf.index));
  if (leaf.leaf == Leaf::previous)
    return load_lanes(d, at(pointers_.output, spec_.output_row, spec_.output), spec_.output);
  const auto number = static_cast<std::size_t>(leaf.index);
  const FinishSpec::Element& element = spec_.elements[number];
  const Xbyak::Reg64& base = pointers_.elements[number];
  if (element.per_lane) return load_lanes(d, at(base, element.row, element.dtype), element.dtype);
  const auto row = static_cast<int>(element.row * row_);
  storage_.broadcast(d,
                     element.dtype == DType::f32 ? code_.ptr[base + row] : code_.word[base + row],
                     element.dtype);
}

void TileFinisher::load_lanes(const Vec& d, const Xbyak::Address& from, DType dtype) {
  partial_ ? storage_.load_partial(d, from, dtype) : storage_.load(d, from, dtype);
}

}  // namespace fuseplan::cpu
