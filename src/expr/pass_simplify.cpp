// SPDX-License-Identifier: MIT
#include "expr/passes.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {
namespace {

// fn with `neutral` as argument `position` is its other argument. x + 0 turns -0 into 0 and x does
// not; the sign of a zero is not part of what the library promises.
struct Neutral {
  Fn fn;
  std::size_t position;
  double neutral;
};
constexpr Neutral kNeutral[] = {
    {Fn::add_, 1, 0}, {Fn::add_, 0, 0}, {Fn::sub_, 1, 0}, {Fn::mul_, 1, 1},
    {Fn::mul_, 0, 1}, {Fn::div_, 1, 1}, {Fn::pow_, 1, 1},
};

// outer(inner(x)) is outer(x), or x itself.
struct Nested {
  Fn outer, inner;
  bool drops_both;
};
constexpr Nested kNested[] = {
    {Fn::neg_, Fn::neg_, true},
    {Fn::abs_, Fn::abs_, false},
    {Fn::abs_, Fn::neg_, false},
};

Ref simplified_unary(Rebuilt& out, const Node& node) {
  for (const Nested& row : kNested) {
    if (node.fn != row.outer || !out.is_call(node.args[0], row.inner)) continue;
    const Ref x = out.graph[node.args[0]].args[0];
    return row.drops_both || out.is_call(x, row.outer) ? x : out.graph.call(row.outer, x);
  }
  return kNoRef;
}

Ref simplified(Rebuilt& out, const Node& node, Ref) {
  const auto is = [&](Ref ref, double value) {
    return out.is_constant(ref) && out.graph[ref].value == value;
  };
  const auto& [a, b, c] = node.args;
  for (const Neutral& row : kNeutral)
    if (node.fn == row.fn && is(node.args[row.position], row.neutral))
      return node.args[1 - row.position];
  if (node.fn == Fn::mul_ && is(b, -1)) return out.graph.call(Fn::neg_, a);
  if (node.fn == Fn::fma_ && is(b, 1)) return out.graph.call(Fn::add_, a, c);
  if (node.fn == Fn::fma_ && is(c, 0)) return out.graph.call(Fn::mul_, a, b);
  if (node.fn == Fn::select_ && b == c) return b;
  if (node.fn == Fn::select_ && out.is_constant(a)) return out.graph[a].value > 0 ? b : c;
  return simplified_unary(out, node);
}

}  // namespace

int pass_simplify(Expr& expr) { return rewrite(expr, simplified); }

}  // namespace fuseplan
