// SPDX-License-Identifier: MIT
#include "expr/passes.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {

int pass_contract_fma(Expr& expr) {
  const std::vector<int> uses = use_counts(expr);
  return rewrite(expr, [&](Rebuilt& out, const Node& node, Ref original) -> Ref {
    // A product with other uses is computed anyway; adding to it is then as cheap.
    const auto is_free_product = [&](std::size_t argument) {
      const Ref before = expr.graph[original].args[argument];
      return out.is_call(node.args[argument], Fn::mul_) &&
             uses[static_cast<std::size_t>(before)] == 1;
    };
    if (node.fn == Fn::add_) {
      for (std::size_t i : {0, 1}) {
        if (!is_free_product(i)) continue;
        const auto& factors = out.graph[node.args[i]].args;
        return out.graph.call(Fn::fma_, factors[0], factors[1], node.args[1 - i]);
      }
    }
    if (node.fn == Fn::sub_ && is_free_product(1)) {
      // a - x c = fma(x, -c, a), if negating c costs less than an element's operation.
      const Node product = out.graph[node.args[1]];
      if (out.is_slower(product.args[1], product.args[0]))
        return out.graph.call(Fn::fma_, product.args[0], out.graph.call(Fn::neg_, product.args[1]),
                              node.args[0]);
    }
    return kNoRef;
  });
}

}  // namespace fuseplan
