// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/containers.hpp"
#include "expr/interval.hpp"
#include "kernels/cpu/emit/vector_code.hpp"

namespace fuseplan::cpu {

/// How a kernel supplies the leaves of an expression, for the vector being computed.
class LeafSource {
 public:
  virtual ~LeafSource() = default;
  /// A register that holds the leaf and must not be written, or memory that holds a whole vector
  /// of it and stays addressable until the expression is done. Nothing if neither is at hand.
  virtual std::optional<Source> find(const Node& /*leaf*/) { return std::nullopt; }
  /// A register of the pool that holds the leaf and becomes the expression's, to overwrite and to
  /// give back; asked before the others, and of a leaf that was not given again at its next use.
  /// Nothing if it is to stay as it is.
  virtual std::optional<int> take(const Node& /*leaf*/) { return std::nullopt; }
  /// Loads the leaf; asked only for leaves that `find` does not know, never for constants. May be
  /// called again for the same leaf, if registers are short.
  virtual void load(const Vec& d, const Node& leaf) = 0;
};

/// Unlike ==, tells -0 from 0.
bool same_leaf(const Node& a, const Node& b);

/// Registers that have to be free in the pool for any expression to be emitted.
inline constexpr int kExprRegisters = 10;

/// About how many instructions the expression takes for a vector.
int work_of(const Expr& expr);
/// Whether sums are finished in the registers where they were summed, by a copy of the expression
/// for each of them or for few at a time. Longer ones walk over sums in memory, whose results are
/// stored when nothing else is left to do: with GELU, 1x1 layers of 16 images took 1.1 to 1.9 times
/// as long so, those in tiles up to 2.5 times.
bool is_applied_in_registers(const Expr& expr);
/// Whether functions of it read constants besides its leaves.
bool brings_constants(const Expr& expr);
/// Vectors to compute per turn of a loop: enough work to hide the loop, not too much code.
int vectors_per_turn(const Expr& expr);

/// Called for each root once its value is in `value`, which may be overwritten.
using RootSink = std::function<void(std::size_t root, const Vec& value)>;

/// Where an expression's values are used, and what they may be, found once for many emissions of
/// it.
struct ExprUses {
  explicit ExprUses(const Expr& expr);
  std::vector<Interval> intervals;  ///< by value
  struct Span {
    std::uint32_t next = 0, end = 0;  ///< in `positions`
  };
  SmallVector<Span, 48> values;
  SmallVector<int, 96> positions;  ///< by value, in order, a root's own included
};

/// Emits machine code for all roots of `expr` over one vector. Values live in registers of the
/// code's pool, in stack slots when those run out, and are dropped after their last use. All
/// registers and slots are free again at the end.
void emit_expr(VectorCode& code, const Expr& expr, const ExprUses& uses, LeafSource& leaves,
               const RootSink& sink);
inline void emit_expr(VectorCode& code, const Expr& expr, LeafSource& leaves,
                      const RootSink& sink) {
  emit_expr(code, expr, ExprUses(expr), leaves, sink);
}

}  // namespace fuseplan::cpu
