// SPDX-License-Identifier: MIT
#include "kernels/cpu/emit/expr_values.hpp"

#include <limits>

namespace fuseplan::cpu {

ExprValues::ExprValues(VectorCode& code, const Expr& expr, LeafSource& leaves)
    : code_(code),
      expr_(expr),
      leaves_(leaves),
      values_(static_cast<std::size_t>(expr.graph.size())) {
  owner_.fill(kNoRef);
  list_uses();
  code_.vectors().set_evictor(this);
}

void ExprValues::list_uses() {
  // Visits all uses, each value's in the order of their positions. A root is used once more: where
  // it is computed, or at the end if it is a leaf.
  const auto each = [&](const auto& visit) {
    const auto roots = [&](bool leaves, Ref only, int position) {
      for (const Ref root : expr_.roots)
        if ((node(root).leaf != Leaf::none) == leaves && (leaves || root == only))
          visit(at(root), position);
    };
    for (Ref i = 0; i < expr_.graph.size(); ++i) {
      roots(false, i, i);
      for (const Ref arg : node(i).args)
        if (arg != kNoRef) visit(at(arg), i);
    }
    roots(true, kNoRef, expr_.graph.size());
  };
  each([](Value& value, int) { ++value.end; });
  std::uint32_t first = 0;
  for (Value& value : values_) {
    value.next = first;
    first += value.end;
    value.end = value.next;
  }
  uses_.resize(first);
  each([&](Value& value, int position) { uses_[value.end++] = position; });
}

ExprValues::~ExprValues() { code_.vectors().set_evictor(nullptr); }

void ExprValues::begin(Ref ref) {
  current_ = ref;
  for (const Ref arg : node(ref).args) {
    if (arg == kNoRef) continue;
    Value& value = at(arg);
    while (value.next < value.end && uses_[value.next] <= ref) ++value.next;
  }
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
    const int next = value.next < value.end ? uses_[value.next] : std::numeric_limits<int>::max();
    if (next > farthest) {
      farthest = next;
      victim = ref;
    }
  }
  if (victim == kNoRef) return;
  Value& value = at(victim);
  if (node(victim).leaf == Leaf::none && value.slot < 0) {
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
  ++at(ref).next;
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
