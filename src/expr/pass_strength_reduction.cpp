// SPDX-License-Identifier: MIT
#include "expr/passes.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {
namespace {

Ref product_for_power(Graph& graph, Ref x, double exponent) {
  if (exponent == -1) return graph.call(Fn::div_, graph.constant(1), x);
  if (exponent != 2 && exponent != 3 && exponent != 4) return kNoRef;
  const Ref square = graph.call(Fn::mul_, x, x);
  if (exponent == 2) return square;
  return graph.call(Fn::mul_, square, exponent == 3 ? x : square);
}

Ref reduced(Rebuilt& out, const Node& node, Ref) {
  const auto& [a, b, c] = node.args;
  if (node.fn == Fn::div_ && out.is_slower(b, a)) {
    const Ref one = out.graph.constant(1);
    const Ref reciprocal = out.is_constant(b) ? out.graph.constant(1 / out.graph[b].value)
                                              : out.graph.call(Fn::div_, one, b);
    return out.graph.call(Fn::mul_, a, reciprocal);
  }
  if (node.fn == Fn::pow_ && out.is_constant(b))
    return product_for_power(out.graph, a, out.graph[b].value);
  return kNoRef;
}

}  // namespace

int pass_strength_reduction(Expr& expr) { return rewrite(expr, reduced); }

}  // namespace fuseplan
