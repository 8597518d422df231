// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>

#include "base/containers.hpp"
#include "kernels/cpu/emit/expr_code.hpp"

namespace fuseplan::cpu {

/// Where the values of an expression live while it is emitted: the register allocator. When a
/// register is needed and none is free, the value whose next use is farthest away goes to the
/// stack (Belady's rule); leaves are read again instead.
class ExprValues : RegisterPool::Evictor {
 public:
  ExprValues(VectorCode& code, const Expr& expr, const ExprUses& uses, LeafSource& leaves);
  ~ExprValues() override;
  ExprValues(const ExprValues&) = delete;
  ExprValues& operator=(const ExprValues&) = delete;

  /// Between begin and end of a node its arguments keep their registers.
  void begin(Ref node);
  void end();

  /// A register that holds the value, to be read only.
  Vec reg(Ref ref);
  /// The value as the last source of an instruction.
  Source source(Ref ref);
  bool in_register(Ref ref);
  const Interval& interval(Ref ref) const { return uses_.intervals[static_cast<std::size_t>(ref)]; }
  /// Whether the value sits in a register that nothing after the current node needs.
  bool reusable(Ref ref) const { return at(ref).reg >= 0 && remaining(ref) == 0; }
  /// The register for the current node's result: that of `ref` if it is reusable, else a fresh one.
  /// All arguments have been asked for before.
  Vec result_over(Ref ref);
  /// The same, holding the value of `ref`.
  Vec result_from(Ref ref);
  /// Hands a root's register out for overwriting.
  void finish_root(Ref ref, const std::function<void(const Vec&)>& sink);

 private:
  struct Value {
    int reg = -1, slot = -1;
    bool pinned = false;
    bool taken = false;   ///< a leaf that only its register holds, or the stack
    ExprUses::Span uses;  ///< that are still to come
  };
  void evict_one() override;
  std::size_t remaining(Ref ref) const { return at(ref).uses.end - at(ref).uses.next; }
  Value& at(Ref ref) { return values_[static_cast<std::size_t>(ref)]; }
  const Value& at(Ref ref) const { return values_[static_cast<std::size_t>(ref)]; }
  void own(Ref ref, int reg);
  void take(Ref ref);
  void forget(Value& value);
  std::optional<Source> outside(Ref ref);
  const Node& node(Ref ref) const { return expr_.graph[ref]; }

  VectorCode& code_;
  const Expr& expr_;
  const ExprUses& uses_;
  LeafSource& leaves_;
  SmallVector<Value, 48> values_;
  std::array<Ref, 32> owner_;  ///< by register
  Ref current_ = kNoRef;
};

}  // namespace fuseplan::cpu
