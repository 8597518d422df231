// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/expr_values.hpp"

#include <limits>

namespace fuseplan::cpu {

ExprUses::ExprUses(const Expr& expr)
    : intervals(intervals_of(expr.graph)), values(static_cast<std::size_t>(expr.graph.size())) {
  // Visits all uses, each value's in the order of their positions. A root is used once more: where
  // it is computed, or at the end if it is a leaf.
  const auto each = [&](const auto& visit) {
    const auto value = [&](Ref ref) -> Span& { return values[static_cast<std::size_t>(ref)]; };
    const auto is_leaf = [&](Ref ref) { return expr.graph[ref].leaf != Leaf::none; };
    for (Ref i = 0; i < expr.graph.size(); ++i) {
      for (const Ref root : expr.roots)
        if (root == i && !is_leaf(i)) visit(value(i), i);
      for (const Ref arg : expr.graph[i].args)
        if (arg != kNoRef) visit(value(arg), i);
    }
    for (const Ref root : expr.roots)
      if (is_leaf(root)) visit(value(root), expr.graph.size());
  };
  each([](Span& span, int) { ++span.end; });
  std::uint32_t first = 0;
  for (Span& span : values) {
    span.next = first;
    first += span.end;
    span.end = span.next;
  }
  positions.resize(first);
  each([&](Span& span, int position) { positions[span.end++] = position; });
}

ExprValues::ExprValues(VectorCode& code, const Expr& expr, const ExprUses& uses, LeafSource& leaves)
    : code_(code), expr_(expr), uses_(uses), leaves_(leaves), values_(uses.values.size()) {
  owner_.fill(kNoRef);
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i].uses = uses.values[i];
  code_.vectors().set_evictor(this);
}

ExprValues::~ExprValues() { code_.vectors().set_evictor(nullptr); }

void ExprValues::begin(Ref ref) {
  current_ = ref;
  for (const Ref arg : node(ref).args) {
    if (arg == kNoRef) continue;
    Value& value = at(arg);
    while (value.uses.next < value.uses.end && uses_.positions[value.uses.next] <= ref)
      ++value.uses.next;
    take(arg);
  }
}

/// The leaf's register, if it is to be had, at the first use.
void ExprValues::take(Ref ref) {
  Value& value = at(ref);
  if (node(ref).leaf == Leaf::none || value.taken || value.reg >= 0) return;
  const auto reg = leaves_.take(node(ref));
  if (!reg) return;
  value.taken = true;
  own(ref, *reg);
}

void ExprValues::end() {
  for (const Ref arg : node(current_).args) {
    if (arg == kNoRef) continue;
    at(arg).pinned = false;
    if (remaining(arg) == 0) forget(at(arg));
  }
  at(current_).pinned = false;
  if (remaining(current_) == 0) forget(at(current_));
}

void ExprValues::own(Ref ref, int reg) {
  at(ref).reg = reg;
  at(ref).pinned = true;
  owner_[static_cast<std::size_t>(reg)] = ref;
}

void ExprValues::forget(Value& value) {
  if (value.reg >= 0) {
    owner_[static_cast<std::size_t>(value.reg)] = kNoRef;
    code_.vectors().give(value.reg);
  }
  if (value.slot >= 0) code_.give_slot(value.slot);
  value.reg = value.slot = -1;
}

void ExprValues::evict_one() {
  Ref victim = kNoRef;
  int farthest = -1;
  for (const Ref ref : owner_) {
    if (ref == kNoRef || at(ref).pinned) continue;
    const Value& value = at(ref);
    const int next =
        remaining(ref) > 0 ? uses_.positions[value.uses.next] : std::numeric_limits<int>::max();
    if (next > farthest) {
      farthest = next;
      victim = ref;
    }
  }
  if (victim == kNoRef) return;
  Value& value = at(victim);
  if ((value.taken || node(victim).leaf == Leaf::none) && value.slot < 0) {
    value.slot = code_.take_slot();
    code_.vmovups(code_.slot(value.slot), code_.vec(value.reg));
  }
  owner_[static_cast<std::size_t>(value.reg)] = kNoRef;
  code_.vectors().give(value.reg);
  value.reg = -1;
}

std::optional<Source> ExprValues::outside(Ref ref) {
  if (at(ref).slot >= 0) return Source(code_.slot(at(ref).slot));
  if (node(ref).leaf == Leaf::none) return std::nullopt;
  if (auto found = leaves_.find(node(ref))) return found;
  if (node(ref).leaf == Leaf::constant) return code_.constant(static_cast<float>(node(ref).value));
  return std::nullopt;
}

bool ExprValues::in_register(Ref ref) {
  if (at(ref).reg >= 0) return true;
  const auto found = outside(ref);
  return found && found->is_reg();
}

Vec ExprValues::reg(Ref ref) {
  if (at(ref).reg >= 0) {
    at(ref).pinned = true;
    return code_.vec(at(ref).reg);
  }
  const auto found = outside(ref);
  if (found && found->is_reg()) return found->reg();
  const int index = code_.vectors().take();
  if (found) {
    code_.move(code_.vec(index), *found);
  } else {
    leaves_.load(code_.vec(index), node(ref));
  }
  own(ref, index);
  return code_.vec(index);
}

Source ExprValues::source(Ref ref) {
  if (at(ref).reg < 0) {
    const auto found = outside(ref);
    const bool worth_loading = remaining(ref) > 0 && code_.vectors().free() > 0;
    if (found && (found->is_reg() || found->is_constant() || !worth_loading)) return *found;
  }
  return reg(ref);
}

Vec ExprValues::result_over(Ref ref) {
  int index;
  if (reusable(ref)) {
    index = at(ref).reg;
    at(ref).reg = -1;
  } else {
    index = code_.vectors().take();
  }
  own(current_, index);
  return code_.vec(index);
}

Vec ExprValues::result_from(Ref ref) {
  if (reusable(ref)) return result_over(ref);
  const Source value = source(ref);
  const Vec d = result_over(ref);
  code_.move(d, value);
  return d;
}

void ExprValues::finish_root(Ref ref, const std::function<void(const Vec&)>& sink) {
  ++at(ref).uses.next;
  if (reusable(ref)) {
    at(ref).pinned = true;
    sink(code_.vec(at(ref).reg));
  } else {
    Temp copy(code_);
    code_.move(copy, source(ref));
    sink(copy);
  }
  at(ref).pinned = false;
  if (remaining(ref) == 0) forget(at(ref));
}

}  // namespace fuseplan::cpu
