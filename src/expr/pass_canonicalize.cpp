// SPDX-License-Identifier: MIT
#include <utility>

#include "expr/passes.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {

// Minimum and maximum keep their order: it decides what happens to NaN.
int pass_canonicalize(Expr& expr) {
  return rewrite(expr, [](Rebuilt& out, Node node, Ref) -> Ref {
    auto& [a, b, c] = node.args;
    if (node.fn == Fn::sub_ && out.is_slower(b, a))
      return out.graph.call(Fn::add_, a, out.graph.call(Fn::neg_, b));
    if (node.fn != Fn::add_ && node.fn != Fn::mul_ && node.fn != Fn::fma_) return kNoRef;
    const bool constant_first =
        out.rate(a) == out.rate(b) && out.is_constant(a) && !out.is_constant(b);
    if (!constant_first && !out.is_slower(a, b)) return kNoRef;
    std::swap(a, b);
    return out.graph.push(node);
  });
}

}  // namespace fuseplan
