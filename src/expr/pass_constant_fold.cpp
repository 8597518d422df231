// SPDX-License-Identifier: MIT
#include <array>

#include "expr/functions.hpp"
#include "expr/passes.hpp"
#include "expr/rewrite.hpp"

namespace fuseplan {

int pass_constant_fold(Expr& expr) {
  return rewrite(expr, [](Rebuilt& out, const Node& node, Ref) -> Ref {
    std::array<double, 3> values{};
    for (std::size_t i = 0; i < 3; ++i) {
      if (node.args[i] == kNoRef) continue;
      if (!out.is_constant(node.args[i])) return kNoRef;
      values[i] = out.graph[node.args[i]].value;
    }
    return out.graph.constant(apply(node.fn, values[0], values[1], values[2]));
  });
}

}  // namespace fuseplan
